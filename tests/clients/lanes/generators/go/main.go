// What a developer writes with the Go client of openapi-generator.
//
// usage: purchase ENDPOINT AGENT ITEM
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	ucp "ucp.example/client"
)

// answered returns an answer, or ends the program.
func answered[T any](answer T, _ *http.Response, err error) T {
	if err != nil {
		var refused *ucp.GenericOpenAPIError
		if errors.As(err, &refused) {
			log.Fatalf("%v: %s", err, refused.Body())
		}
		log.Fatal(err)
	}
	return answer
}

func total(totals []ucp.Total, kind string) int64 {
	for _, entry := range totals {
		if entry.Type == kind {
			return entry.Amount
		}
	}
	log.Fatalf("there is no %s", kind)
	return 0
}

func main() {
	endpoint, agent, item := os.Args[1], os.Args[2], os.Args[3]
	configuration := ucp.NewConfiguration()
	configuration.AddDefaultHeader("UCP-Agent", agent)
	configuration.Servers = ucp.ServerConfigurations{{URL: endpoint}}
	client, ctx := ucp.NewAPIClient(configuration), context.Background()
	search, lookup := client.DevUcpShoppingCatalogSearchAPI, client.DevUcpShoppingCatalogLookupAPI
	carts, checkouts, orders := client.DevUcpShoppingCartAPI, client.DevUcpShoppingCheckoutAPI, client.DevUcpShoppingOrderAPI

	query := ucp.SearchRequest{Query: ucp.PtrString("runner pro"), Context: &ucp.Context{Currency: ucp.PtrString("USD")}}
	found := answered(search.SearchCatalog(ctx).SearchRequest(query).Execute()).SearchResponse
	ids := *ucp.NewLookupRequest([]string{"prod_abc123", "prod_unknown"})
	known := answered(lookup.LookupCatalog(ctx).LookupRequest(ids).Execute()).LookupResponse

	lines := []ucp.LineItemRequest{{Item: ucp.ItemRequest{Id: item}, Quantity: 2}}
	cart := answered(carts.CreateCart(ctx).CartRequest(*ucp.NewCartRequest(lines)).Execute()).Cart
	create := ucp.CreateCheckoutRequest{CartId: &cart.Id}
	begun := answered(checkouts.CreateCheckout(ctx).CreateCheckoutRequest(create).Execute()).Checkout
	update := ucp.CheckoutRequest{
		LineItems: lines,
		Buyer:     &ucp.BuyerRequest{Email: ucp.PtrString("buyer@example.com")},
		Fulfillment: &ucp.FulfillmentRequest{Methods: []ucp.FulfillmentMethodRequest{{
			Type: ucp.PtrString("shipping"),
			Destinations: []ucp.FulfillmentDestinationRequest{{
				StreetAddress:   ucp.PtrString("1 Main St"),
				AddressLocality: ucp.PtrString("Eugene"),
				AddressRegion:   ucp.PtrString("OR"),
				PostalCode:      ucp.PtrString("97401"),
				AddressCountry:  ucp.PtrString("US"),
			}},
		}}},
	}
	ready := answered(checkouts.UpdateCheckout(ctx, begun.Id).CheckoutRequest(update).Execute()).Checkout
	var handler string
	for _, handlers := range ready.Ucp.PaymentHandlers {
		handler = handlers[0].Id
	}
	card := ucp.PaymentInstrumentRequest{
		Id:         "card_1",
		HandlerId:  handler,
		Type:       "card",
		Selected:   ucp.PtrBool(true),
		Credential: &ucp.PaymentCredentialRequest{Type: "token", Token: ucp.PtrString("success_token")},
	}
	payment := *ucp.NewCompleteCheckoutRequest(ucp.PaymentRequest{Instruments: []ucp.PaymentInstrumentRequest{card}})
	complete := checkouts.CompleteCheckout(ctx, begun.Id).IdempotencyKey(rand.Text())
	completed := answered(complete.CompleteCheckoutRequest(payment).Execute()).Checkout
	order := answered(orders.GetOrder(ctx, completed.Order.Id).Execute()).Order

	missing := answered(carts.GetCart(ctx, "cart_unknown").Execute()).UcpErrorResponse
	forged := ucp.SearchRequest{Query: ucp.PtrString("runner pro"), Pagination: &ucp.PaginationRequest{Cursor: ucp.PtrString("forged")}}
	_, response, err := search.SearchCatalog(ctx).SearchRequest(forged).Execute()
	var failure *ucp.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Fatal("a forged cursor is accepted")
	}
	refused := failure.Model().(ucp.Error)

	told, err := json.Marshal(map[string]any{
		"found":       []string{found.Ucp.Status, found.Products[0].Title},
		"known":       []string{known.Products[0].Id, known.Messages[0].MessageInfo.Content},
		"subtotal":    total(cart.Totals, "subtotal"),
		"statuses":    []string{begun.Status, ready.Status, completed.Status},
		"destination": ready.Fulfillment.Methods[0].Destinations[0].ShippingAddress.AddressLocality,
		"bought":      order.CheckoutId == begun.Id && total(order.Totals, "total") == total(ready.Totals, "total"),
		"missing":     []string{missing.Ucp.Status, missing.Messages[0].MessageError.Code},
		"refused":     []any{response.StatusCode, refused.Code},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(told))
}
