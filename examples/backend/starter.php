<?php
// A shop behind the backend contract: PHP 8.1 and nothing else. Replace the goods, carts and orders by those of your shop.
//
//     php -S 127.0.0.1:4000 starter.php
declare(strict_types=1);

const DELIVERED_TO = ['US', 'CA', 'DE', 'GB'];
const OPTIONS = [
    ['id' => 'standard', 'title' => 'Standard', 'amount' => 500, 'min_days' => 3, 'max_days' => 5],
    ['id' => 'express', 'title' => 'Express', 'amount' => 1500, 'min_days' => 1, 'max_days' => 2],
];

/** There is no such cart, or no such position in a result. */
class Gone extends Exception {}

/** What a request leaves behind: carts, orders, and what became of each attempt to place one, by reference. */
class Store
{
    public array $carts = [];
    public array $orders = [];
    public array $attempts = [];
    private $lock;

    /** PHP keeps nothing between two requests: a file does, which one request at a time has open. */
    public function __construct(private string $file)
    {
        $this->lock = fopen("$file.lock", 'c');
        flock($this->lock, LOCK_EX);
        $kept = is_file($file) ? json_decode(file_get_contents($file), true, flags: JSON_THROW_ON_ERROR) : [];
        foreach ($kept as $what => $value) {
            $this->$what = $value;
        }
    }

    /** Replaces the file as a whole, so that a crash leaves the one from before. */
    public function save(): void
    {
        $kept = ['carts' => $this->carts, 'orders' => $this->orders, 'attempts' => $this->attempts];
        file_put_contents("$this->file.new", json_encode($kept, JSON_THROW_ON_ERROR));
        rename("$this->file.new", $this->file);
    }
}

function products(): array
{
    $lines = file(__DIR__ . '/products.jsonl', FILE_IGNORE_NEW_LINES | FILE_SKIP_EMPTY_LINES);
    $products = array_map(fn ($line) => json_decode($line, true, flags: JSON_THROW_ON_ERROR), $lines);
    usort($products, fn ($one, $other) => strcmp($one['id'], $other['id']));
    return $products;
}

function backend(): array
{
    return [
        'contract' => '1', 'market' => ['name' => 'Starter Shop', 'currency' => 'USD', 'language' => 'en'],
        'catalog' => ['most_ids' => 50],
        'cart' => ['completion' => 'place', 'codes' => true, 'delivery' => true, 'keys' => true, 'order_status' => true],
        'payment_handlers' => [
            ['name' => 'com.example.starter_pay', 'id' => 'starter_pay', 'version' => '2026-01-01', 'instruments' => ['card']],
        ],
    ];
}

function find(array $question): array
{
    $words = preg_split('/\s+/', strtolower($question['words'] ?? ''), flags: PREG_SPLIT_NO_EMPTY);
    [$after, $products] = [$question['after'] ?? null, products()];
    if ($after !== null && !in_array($after, array_column($products, 'id'), true)) {
        throw new Gone();
    }
    $matches = array_filter($products, function ($product) use ($words) {
        $text = strtolower("$product[title] {$product['description']['plain']}");
        return array_filter($words, fn ($word) => !str_contains($text, $word)) === [];
    });
    $rest = array_filter($matches, fn ($product) => $after === null || strcmp($product['id'], $after) > 0);
    $page = array_slice($rest, 0, $question['limit']);
    $next = count($rest) > count($page) ? end($page)['id'] : null;
    return ['products' => $page, 'next' => $next, 'total' => count($matches)];
}

function resolve(array $question): array
{
    $names = fn ($product) => [
        $product['id'], $product['handle'] ?? null,
        ...array_column($product['variants'], 'id'), ...array_column($product['variants'], 'sku'),
    ];
    $named = array_filter(products(), fn ($product) => array_intersect($question['ids'], array_filter($names($product))) !== []);
    return ['products' => array_values($named)];
}

/** What a cart costs: the one place where this shop has prices, discounts and deliveries. */
function priced(string $cart, array $stated): array
{
    $variants = array_column(array_merge(...array_column(products(), 'variants')), null, 'id');
    $lines = array_map(function ($line) use ($variants) {
        $known = $variants[$line['variant']] ?? ['price' => ['amount' => 0], 'availability' => ['available' => false]];
        $quantity = $known['availability']['available'] ?? true ? $line['quantity'] : 0;
        return ['variant' => $line['variant'], 'quantity' => $quantity, 'price' => $known['price']['amount']];
    }, $stated['lines']);
    $goods = array_sum(array_map(fn ($line) => $line['quantity'] * $line['price'], $lines));
    $off = in_array('WELCOME10', $stated['codes'] ?? [], true) ? intdiv($goods, 10) : 0;
    $options = in_array($stated['address']['address_country'] ?? null, DELIVERED_TO, true) ? OPTIONS : [];
    $wanted = array_filter($options, fn ($option) => $option['id'] === ($stated['delivery_option'] ?? null));
    $chosen = array_values($wanted)[0] ?? $options[0] ?? null;
    return [
        'cart' => $cart, 'currency' => 'USD', 'lines' => $lines,
        'discounts' => $off > 0 ? [['code' => 'WELCOME10', 'title' => '10% off', 'amount' => $off]] : [],
        'delivery_options' => $options, 'delivery_option' => $chosen['id'] ?? null,
        'total' => $goods - $off + ($chosen['amount'] ?? 0),
    ];
}

function sync(Store $store, array $stated): array
{
    $cart = $stated['cart'] ?? 'starter-cart-' . ($stated['key'] ?? bin2hex(random_bytes(16)));
    $store->carts[$cart] = isset($stated['cart']) && !isset($store->carts[$cart]) ? throw new Gone() : $stated;
    return priced($cart, $stated);
}

function abandon(Store $store, string $cart): ?array
{
    unset($store->carts[$cart]);
    return null;
}

/** Decides about an attempt to place an order, which `/place` does once for each reference. */
function decided(Store $store, array $order): array
{
    $stated = $store->carts[$order['cart']] ?? null;
    if ($stated === null || priced($order['cart'], $stated)['total'] !== $order['total']) {
        return ['status' => 'declined', 'reason' => 'The cart has changed.'];
    }
    // Here the shop takes the payment; `credential` is what the buyer's platform sent.
    if (isset($order['payment']) && ($order['payment']['credential']['token'] ?? null) !== 'success_token') {
        return ['status' => 'declined', 'reason' => 'The card was declined.'];
    }
    unset($store->carts[$order['cart']]);
    $number = (string) (1000 + count($store->orders));
    // Whoever sends, cancels or refunds the order adds to its `events`, which `/order/status` tells.
    $store->orders[] = compact('number') + ['total' => $order['total'], 'email' => $order['buyer']['email'] ?? null, 'events' => []];
    return ['status' => 'placed', 'order' => ['id' => $number, 'label' => "#$number"]];
}

/** Gives an attempt up: one that arrives later is declined. */
function cancel(Store $store, string $reference): array
{
    $before = $store->attempts[$reference] ?? null;
    $store->attempts[$reference] ??= ['status' => 'declined', 'reason' => 'The purchase was given up.'];
    return $before ?? ['status' => 'absent'];
}

/** Checks the gateway's signature: the HMAC of time, method, path and body. */
function isGateway(string $method, string $path, string $body): bool
{
    $secret = getenv('BACKEND_SECRET');
    $time = $_SERVER['HTTP_X_SIGNATURE_TIMESTAMP'] ?? '0';
    $expected = 'sha256=' . hash_hmac('sha256', "$time\n$method\n$path\n$body", (string) $secret);
    return $secret === false
        || abs(time() - (int) $time) < 300 && hash_equals($expected, $_SERVER['HTTP_X_SIGNATURE'] ?? '');
}

function answer(int $status, ?array $document): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($document, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
}

$body = file_get_contents('php://input');
[$method, $path] = [$_SERVER['REQUEST_METHOD'], parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)];
if (!isGateway($method, $path, $body)) {
    return answer(401, ['error' => 'the signature is not right']);
}
try {
    $question = $body === '' ? [] : json_decode($body, true, flags: JSON_THROW_ON_ERROR);
    $store = new Store((getenv('STARTER_DATA') ?: sys_get_temp_dir()) . '/starter-shop.json');
    $found = match ("$method $path") {
        'GET /backend' => backend(),
        'POST /find' => find($question),
        'POST /resolve', 'POST /open' => resolve($question),
        'POST /cart/sync' => sync($store, $question),
        'POST /cart/fetch' => priced($question['cart'], $store->carts[$question['cart']] ?? throw new Gone()),
        'POST /cart/abandon' => abandon($store, $question['cart']),
        'POST /place' => $store->attempts[$question['reference']] ??= decided($store, $question),
        'POST /order' => $store->attempts[$question['reference']] ?? ['status' => 'absent'],
        'POST /order/status' => ['order' => ['id' => $question['order']], 'currency' => 'USD',
            'events' => array_column($store->orders, 'events', 'number')[$question['order']] ?? throw new Gone()],
        'POST /cancel' => cancel($store, $question['reference']),
        default => throw new Gone(),
    };
    $store->save();
    answer(200, $found);
} catch (Gone) {
    answer(404, ['error' => 'there is no such thing']);
} catch (Throwable $error) {
    error_log((string) $error);
    answer(500, ['error' => $error->getMessage()]);
}
