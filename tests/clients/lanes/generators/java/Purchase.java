// What a developer writes with the Java client of openapi-generator.
//
// usage: java Purchase ENDPOINT AGENT ITEM
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DevUcpShoppingCartApi;
import org.openapitools.client.api.DevUcpShoppingCatalogLookupApi;
import org.openapitools.client.api.DevUcpShoppingCatalogSearchApi;
import org.openapitools.client.api.DevUcpShoppingCheckoutApi;
import org.openapitools.client.api.DevUcpShoppingOrderApi;
import org.openapitools.client.model.*;

public final class Purchase {
    private Purchase() {}

    static long total(List<Total> totals, Total.TypeEnum type) {
        return totals.stream().filter(entry -> entry.getType() == type).findFirst().orElseThrow().getAmount();
    }

    public static void main(String[] arguments) throws Exception {
        String agent = arguments[1];
        String item = arguments[2];
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        client.setRequestInterceptor(request -> request.header("UCP-Agent", agent));
        var search = new DevUcpShoppingCatalogSearchApi(client);
        var lookup = new DevUcpShoppingCatalogLookupApi(client);
        var carts = new DevUcpShoppingCartApi(client);
        var checkouts = new DevUcpShoppingCheckoutApi(client);
        var orders = new DevUcpShoppingOrderApi(client);

        var query = new SearchRequest().query("runner pro").context(new Context().currency("USD"));
        SearchResponse found = search.searchCatalog(query, null, null, null).getSearchResponse();
        var ids = new LookupRequest().ids(List.of("prod_abc123", "prod_unknown"));
        LookupResponse known = lookup.lookupCatalog(ids, null, null, null).getLookupResponse();

        var lines = List.of(new LineItemRequest().item(new ItemRequest().id(item)).quantity(2L));
        Cart cart = carts.createCart(new CartRequest().lineItems(lines), null, null, null).getCart();
        var create = new CreateCheckoutRequest().cartId(cart.getId());
        Checkout begun = checkouts.createCheckout(create, null, null, null).getCheckout();
        var destination = new FulfillmentDestinationRequest()
            .streetAddress("1 Main St")
            .addressLocality("Eugene")
            .addressRegion("OR")
            .postalCode("97401")
            .addressCountry("US");
        var shipping = new FulfillmentMethodRequest().type("shipping").destinations(List.of(destination));
        var update = new CheckoutRequest()
            .lineItems(lines)
            .buyer(new BuyerRequest().email("buyer@example.com"))
            .fulfillment(new FulfillmentRequest().methods(List.of(shipping)));
        Checkout ready = checkouts.updateCheckout(begun.getId(), update, null, null, null).getCheckout();
        String handler = ready.getUcp().getPaymentHandlers().values().iterator().next().get(0).getId();
        var card = new PaymentInstrumentRequest()
            .id("card_1")
            .handlerId(handler)
            .type("card")
            .selected(true)
            .credential(new PaymentCredentialRequest().type("token").token("success_token"));
        var payment = new CompleteCheckoutRequest().payment(new PaymentRequest().instruments(List.of(card)));
        String key = UUID.randomUUID().toString();
        Checkout completed = checkouts.completeCheckout(key, begun.getId(), payment, null, null).getCheckout();
        Order order = orders.getOrder(completed.getOrder().getId(), null, null).getOrder();

        UcpErrorResponse missing = carts.getCart("cart_unknown", null, null).getUcpErrorResponse();
        var mapper = new ObjectMapper();
        List<Object> refused;
        try {
            var forged = new SearchRequest().query("runner pro").pagination(new PaginationRequest().cursor("forged"));
            search.searchCatalog(forged, null, null, null);
            throw new AssertionError("a forged cursor is accepted");
        } catch (ApiException refusal) {
            var told = mapper.readValue(refusal.getResponseBody(), org.openapitools.client.model.Error.class);
            refused = List.of(refusal.getCode(), told.getCode());
        }

        Map<String, Object> told = new LinkedHashMap<>();
        told.put("found", List.of(found.getUcp().getStatus().getValue(), found.getProducts().get(0).getTitle()));
        told.put("known", List.of(known.getProducts().get(0).getId(), known.getMessages().get(0).getMessageInfo().getContent()));
        told.put("subtotal", total(cart.getTotals(), Total.TypeEnum.SUBTOTAL));
        told.put("statuses", List.of(begun.getStatus().getValue(), ready.getStatus().getValue(), completed.getStatus().getValue()));
        var place = ready.getFulfillment().getMethods().get(0).getDestinations().get(0);
        told.put("destination", place.getActualInstance() instanceof ShippingAddress address ? address.getAddressLocality() : null);
        told.put("bought", order.getCheckoutId().equals(begun.getId())
            && total(order.getTotals(), Total.TypeEnum.TOTAL) == total(ready.getTotals(), Total.TypeEnum.TOTAL));
        told.put("missing", List.of(missing.getUcp().getStatus().getValue(), missing.getMessages().get(0).getMessageError().getCode()));
        told.put("refused", refused);
        System.out.println(mapper.writeValueAsString(told));
    }
}
