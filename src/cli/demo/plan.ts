/** The demo's project: four interdependent tracks, one task with subtasks that are merged. */
export const DEMO_PROJECT = 'corner-shop';

export const DEMO_PLAN = `project: corner-shop
tracks:
  A:
    - id: A-001-domain-model
      description: products, carts and orders
    - id: A-002-event-log
      description: every change of an order as an event
    - id: A-003-prices
      description: prices, taxes and discounts
  B:
    - id: B-001-schema
      description: tables for the domain model
      depends_on: [A-001-domain-model]
    - id: B-002-migrations
      description: from the old shop's tables to ours
    - id: B-003-repositories
      description: reading and writing the domain model
      subtasks:
        - description: products
        - description: carts
        - description: orders
  C:
    - id: C-001-http-api
      description: the shop over HTTP
      depends_on: [A-001-domain-model]
    - id: C-002-checkout
      description: from the cart to the order
      depends_on: [C-001-http-api, B-003-repositories]
    - id: C-003-payment
      description: paying for an order
      depends_on: [C-002-checkout, A-003-prices]
  D:
    - id: D-001-design
      description: how the shop looks
      depends_on: []
    - id: D-002-pages
      description: the pages of the shop
      depends_on: [D-001-design, C-001-http-api]
    - id: D-003-guide
      description: how to run the shop
      depends_on: [C-003-payment, D-002-pages]
`;
