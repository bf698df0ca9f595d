def IN(stream): any(stream == .; .);
def INDEX(f): reduce .[] as $row ({}; .[$row | f | tostring] |= $row);
def toarray: if isarray then . else [.] end;

def _sum(amounts): reduce amounts as $amount (0; . + $amount);

def balanced($where; $title):
  . as $cart
  | [(.fees, .taxes, .discounts, .credits) | select(. != null) | .[].amount] as $others
  | (first((.delivery_options // [])[] | select(.id == $cart.delivery_option) | .amount) // 0) as $delivery
  | (first((.pickup_places // [])[] | select(.id == $cart.pickup_place) | .amount) // 0) as $pickup
  | (_sum((.lines // [])[] | .price * .quantity - (.discount // 0)) + $delivery + $pickup
    + _sum(((.fees // []) + (.taxes // []))[].amount)
    - _sum(((.discounts // []) + (.credits // []))[].amount)) as $sum
  | (.total - $sum) as $difference
  | (($others | length) + 2 + _sum((.lines // [])[].quantity)) as $amounts
  | if $difference == 0 then .
    elif 2 * ($difference | abs) > $amounts then
      error("the total differs from the sum by \($difference): it must be at most half a minor unit for each amount")
    elif $where == "taxes" then
      ((.taxes // []) | max_by(.amount)) as $tax
      | if $tax == null or $tax.amount + $difference < 0 then
          error("the largest of the taxes must be as large as the difference that it takes")
        else .taxes |= (index($tax) as $at | .[$at].amount += $difference)
        end
    elif $where == "fees" then
      if $difference > 0 then .fees = (.fees // []) + [{title: $title, amount: $difference}]
      else .discounts = (.discounts // []) + [{title: $title, amount: (- $difference)}]
      end
    else error("what takes the difference must be \"taxes\" or \"fees\"")
    end;

def balanced($where): balanced($where; "Rounding");
