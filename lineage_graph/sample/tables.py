"""The tables of the sample pipeline, each with the query that fills it.

How a table is written down: what it is, one line a column, then the query that fills it::

    One row an order.
    + name! | type | expression -- description
    from {dataset} alias
    where ...

``!`` marks a column as personal data, ``a.b`` is a field of the struct ``a``. Lines that begin with ``-``
held until the release in the middle of the story, lines with ``+`` hold since then. A column that is only
passed on takes over the description of its source. :mod:`lineage_graph.sample.query` makes SQL text and
column lineage from these lines, so they agree.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    owner: str
    rows: int
    """In the last night; 0 where rows are not counted."""
    text: str
    tags: tuple[str, ...] = ()
    former: str = ""
    """Short name before the rename."""

    @property
    def doc(self) -> str:
        return self.text.strip().partition("\n")[0]


_CUSTOMERS = """
    Customer accounts of the shop.
    customer_id       | bigint      -- Customer number, never given twice
    email!            | text        -- Login, and where the newsletter goes
    full_name!        | text        -- As given at sign-up
    phone!            | text        -- For the parcel service
    address           | address     -- Default delivery address
    address.street!   | text
    address.postcode! | text
    address.city      | text
    address.country   | text        -- ISO 3166, two letters
    newsletter        | boolean     -- Agreed to marketing
    created_at        | timestamptz -- Sign-up"""
_ORDERS = """
    Orders, as the checkout writes them.
    order_id          | bigint      -- Order number
    customer_id       | bigint      -- Who ordered
    status            | text        -- new, shipped, cancelled, test
    currency          | text        -- ISO 4217
    amount_cents      | integer     -- Before discount, in cents of the currency
    + discount_cents  | integer     -- Off the order by voucher, since release 2.0
    ordered_at        | timestamptz -- When the shop took the order"""
_ORDER_ITEMS = """
    Lines of the orders.
    order_item_id     | bigint      -- Line number over all orders
    order_id          | bigint      -- Order number
    product_id        | bigint      -- What was ordered
    quantity          | integer     -- Pieces
    unit_price_cents  | integer     -- In cents of a euro"""
_PRODUCTS = """
    What the shop sells.
    product_id        | bigint      -- Product number
    name              | text        -- As shown in the shop
    category          | text        -- Top level of the catalogue
    cost_cents        | integer     -- Purchase price, in cents of a euro"""
_PAYMENTS = """
    Payments, one row a capture.
    payment_id        | bigint      -- Number at the payment provider
    order_id          | bigint      -- Order number
    method            | text        -- card, invoice, wallet
    amount_cents      | integer     -- In cents of a euro
    card_last4!       | text        -- Last digits of the card
    captured_at       | timestamptz -- When the money came in"""
_IN_PARQUET = {"text": "string", "timestamptz": "timestamp", "integer": "int", "address": "struct"}


def _copy(source: str, name: str) -> str:
    """Every column of one of the shop's tables: structs whole, marks of personal data not taken along."""
    lines = [f"Nightly copy of the {name.replace('_', ' ')}."]
    for line in source.strip().splitlines()[1:]:
        column, kind = line.partition(" -- ")[0].replace("!", "").split("|")
        selected = "" if "." in column else f" | t.{column.strip().removeprefix('+ ')}"
        lines.append(f"{column} | {_IN_PARQUET.get(kind.strip(), kind)}{selected}")
    return "\n".join([*lines, f"from {{pg.{name}}} t"])


TABLES = {
    "pg.customers": Table("shop-backend", 48_000, _CUSTOMERS, tags=("pii",)),
    "pg.orders": Table("shop-backend", 310_000, _ORDERS),
    "pg.order_items": Table("shop-backend", 742_000, _ORDER_ITEMS),
    "pg.products": Table("catalogue", 5_400, _PRODUCTS),
    "pg.payments": Table("payments", 318_000, _PAYMENTS, tags=("pci",)),
    "pg.returns": Table("shop-backend", 14_200, """
        Orders that came back, one row an order.
        return_id       | bigint      -- Return number
        order_id        | bigint      -- Order number
        reason          | text        -- Picked by the customer
        refunded_cents  | integer     -- In cents of a euro
        received_at     | timestamptz -- When the parcel came back"""),
    "pg.coupons_2019": Table("shop-backend", 900, """
        Vouchers of an old campaign; nothing reads or writes them any more.
        code             | text    -- Printed on the flyer
        discount_percent | integer
        valid_until      | date"""),
    "kafka.page_views": Table("shop-frontend", 2_600_000, """
        One message a page seen in the shop.
        view_id     | string -- One a page seen, growing
        visitor_id  | string -- From the cookie
        customer_id | bigint -- Null before the login
        url         | string
        channel     | string -- Where the visit came from: search, mail, ads, direct
        ip_address! | string
        device      | struct
        device.kind | string -- phone, tablet, desktop
        device.os   | string
        viewed_at   | timestamp"""),
    "raw.customers": Table("data-platform", 48_000, _copy(_CUSTOMERS, "customers")),
    "raw.orders": Table("data-platform", 310_000, _copy(_ORDERS, "orders")),
    "raw.order_items": Table("data-platform", 742_000, _copy(_ORDER_ITEMS, "order_items")),
    "raw.products": Table("data-platform", 5_400, _copy(_PRODUCTS, "products")),
    "raw.payments": Table("data-platform", 318_000, _copy(_PAYMENTS, "payments")),
    "raw.fx_rates": Table("finance", 31, """
        Euro reference rates of the day, from the bank's API.
        currency | string        -- ISO 4217
        rate     | decimal(12,6) -- Units of the currency for one euro
        day      | date"""),
    "wh.returns": Table("data-platform", 14_200, """
        Returns, one row an order, brought over by the connector.
        return_id      | number
        order_id       | number
        reason         | varchar
        refunded_cents | number
        received_at    | timestamp_tz"""),
    "lake.customers": Table("data-platform", 48_000, """
        Customers with a country, a clean e-mail address and a pseudonym.
        customer_id  | bigint  | c.customer_id
        email        | string  | lower(trim(c.email))
        email_sha256 | string  | sha2(lower(trim(c.email)), 256) -- Pseudonym to join on, without the address
        full_name    | string  | c.full_name
        city         | string  | c.address.city
        country      | string  | upper(c.address.country) -- ISO 3166, two letters
        newsletter   | boolean | c.newsletter
        signed_up_on | date    | cast(c.created_at as date) -- Day of the sign-up
        from {raw.customers} c""", tags=("pii",)),
    "lake.orders": Table("data-platform", 309_000, """
        Orders in euros, without those of the shop's own tests.
        order_id       | bigint        | o.order_id
        customer_id    | bigint        | o.customer_id
        status         | string        | lower(o.status) -- new, shipped, cancelled
        ordered_at     | timestamp     | o.ordered_at
        order_day      | date          | cast(o.ordered_at as date) -- Day of the order, UTC
        amount_eur     | decimal(12,2) | round(o.amount_cents / 100 / r.rate, 2) -- Before discount, in euros
        + discount_eur | decimal(12,2) | round(o.discount_cents / 100 / r.rate, 2) -- Voucher, in euros
        from {raw.orders} o
        join {raw.fx_rates} r on r.currency = o.currency
        where o.status <> 'test'"""),
    "lake.order_lines": Table("data-platform", 741_000, """
        Order lines with what they sold for and cost.
        order_item_id | bigint        | i.order_item_id
        order_id      | bigint        | i.order_id
        product_id    | bigint        | i.product_id
        category      | string        | p.category
        quantity      | int           | i.quantity
        line_amount   | decimal(12,2) | round(i.quantity * i.unit_price_cents / 100, 2) -- Sold for, in euros
        line_cost     | decimal(12,2) | round(i.quantity * p.cost_cents / 100, 2) -- Bought for, in euros
        from {raw.order_items} i
        join {raw.products} p on p.product_id = i.product_id"""),
    "lake.payments": Table("data-platform", 312_000, """
        Payments that were captured.
        payment_id  | bigint        | p.payment_id
        order_id    | bigint        | p.order_id
        method      | string        | p.method
        amount_eur  | decimal(12,2) | p.amount_cents / 100 -- Captured, in euros
        captured_at | timestamp     | p.captured_at
        from {raw.payments} p
        where p.captured_at is not null"""),
    "lake.sessions": Table("data-platform", 410_000, """
        Visits of known customers: views less than 30 minutes apart.
        session_id  | string    | min(v.view_id) -- First view of the visit
        customer_id | bigint    | v.customer_id
        channel     | string    | v.channel
        device      | string    | v.device.kind
        page_views  | bigint    | count(v.url) -- Pages seen
        started_at  | timestamp | min(v.viewed_at) -- First page seen
        from {kafka.page_views} v
        where v.customer_id is not null
        group by v.customer_id, v.channel, v.device.kind, session(v.viewed_at, interval '30' minute)"""),
    "stg.customers": Table("analytics-engineering", 48_000, """
        Customers for analysis: pseudonym in place of the address.
        customer_id  | number  | c.customer_id
        customer_key | varchar | c.email_sha256
        country      | varchar | c.country
        newsletter   | boolean | c.newsletter
        signed_up_on | date    | c.signed_up_on
        from {glue.customers} c"""),
    "stg.orders": Table("analytics-engineering", 296_000, """
        Orders that count: cancelled ones are left out.
        order_id       | number        | o.order_id
        customer_id    | number        | o.customer_id
        status         | varchar       | o.status
        ordered_at     | timestamp_ntz | o.ordered_at
        order_day      | date          | o.order_day
        amount_eur     | number(12,2)  | o.amount_eur
        + discount_eur | number(12,2)  | coalesce(o.discount_eur, 0) -- Voucher, in euros; 0 without one
        from {glue.orders} o
        where o.status <> 'cancelled'"""),
    "stg.order_lines": Table("analytics-engineering", 741_000, """
        Order lines with their margin.
        order_id   | number       | l.order_id
        category   | varchar      | l.category
        quantity   | number       | l.quantity
        margin_eur | number(12,2) | l.line_amount - l.line_cost -- What the line earns, in euros
        from {glue.order_lines} l"""),
    "stg.payments": Table("analytics-engineering", 312_000, """
        Captured payments.
        payment_id  | number        | p.payment_id
        order_id    | number        | p.order_id
        method      | varchar       | p.method
        amount_eur  | number(12,2)  | p.amount_eur
        captured_at | timestamp_ntz | p.captured_at
        from {glue.payments} p"""),
    "stg.sessions": Table("analytics-engineering", 410_000, """
        Visits with their day.
        session_id  | varchar | s.session_id
        customer_id | number  | s.customer_id
        channel     | varchar | s.channel
        page_views  | number  | s.page_views
        started_at  | timestamp_ntz | s.started_at
        session_day | date    | cast(s.started_at as date) -- Day of the visit, UTC
        from {glue.sessions} s"""),
    "int.order_payments": Table("analytics-engineering", 296_000, """
        What was paid for each order.
        order_id | number       | o.order_id
        paid_eur | number(12,2) | coalesce(sum(p.amount_eur), 0) -- Captured so far, in euros
        payments | number       | count(p.payment_id) -- Captures
        payment_state | varchar | case when sum(p.amount_eur) >= max(o.amount_eur) then 'paid' else 'open' end
        from {stg.orders} o
        left join {stg.payments} p on p.order_id = o.order_id
        group by o.order_id"""),
    "int.order_margins": Table("analytics-engineering", 309_500, """
        What each order earns.
        order_id   | number       | l.order_id
        items      | number       | sum(l.quantity) -- Pieces
        margin_eur | number(12,2) | sum(l.margin_eur) -- Over all lines, in euros
        from {stg.order_lines} l
        group by l.order_id"""),
    "int.customer_orders": Table("analytics-engineering", 41_300, """
        Orders of each customer, summed up.
        customer_id    | number       | o.customer_id
        orders         | number       | count(o.order_id) -- Orders so far
        revenue_eur    | number(12,2) | sum(o.amount_eur) -- Over all orders, before discount
        last_order_day | date         | max(o.order_day)
        from {stg.orders} o
        group by o.customer_id"""),
    "int.customer_sessions": Table("analytics-engineering", 22_700, """
        Visits of each customer in the last 30 days.
        customer_id  | number        | s.customer_id
        sessions_30d | number        | count(s.session_id) -- Visits
        views_30d    | number        | sum(s.page_views) -- Pages seen
        last_seen_at | timestamp_ntz | max(s.started_at) -- Start of the last visit
        from {stg.sessions} s
        where s.started_at >= dateadd(day, -30, current_date)
        group by s.customer_id"""),
    "mart.fct_orders": Table("analytics-engineering", 296_000, """
        One row an order, with all that is known of its money.
        order_id       | number       | o.order_id
        customer_id    | number       | o.customer_id
        order_day      | date         | o.order_day
        order_no       | number       | row_number() over (partition by o.customer_id order by o.ordered_at)
        amount_eur     | number(12,2) | o.amount_eur
        + discount_eur | number(12,2) | o.discount_eur
        - net_eur      | number(12,2) | o.amount_eur - coalesce(r.refunded_cents, 0) / 100
        + net_eur      | number(12,2) | o.amount_eur - o.discount_eur - coalesce(r.refunded_cents, 0) / 100
        margin_eur     | number(12,2) | m.margin_eur
        payment_state  | varchar      | p.payment_state
        from {stg.orders} o
        left join {int.order_payments} p on p.order_id = o.order_id
        left join {int.order_margins} m on m.order_id = o.order_id
        left join {wh.returns} r on r.order_id = o.order_id""", tags=("certified",)),
    "mart.dim_customers": Table("analytics-engineering", 48_000, """
        One row a customer, with the segment marketing works by.
        customer_id  | number  | c.customer_id
        customer_key | varchar | c.customer_key
        country      | varchar | c.country
        newsletter   | boolean | c.newsletter
        signed_up_on | date    | c.signed_up_on
        segment      | varchar | case when o.revenue_eur > 1000 then 'gold' when o.orders > 1 then 'loyal' end
        from {stg.customers} c
        left join {int.customer_orders} o on o.customer_id = c.customer_id""", tags=("certified",)),
    "mart.fct_daily_revenue": Table("finance", 15_800, """
        Paid revenue by day and country: the figure of the morning meeting.
        order_day      | date         | f.order_day
        country        | varchar      | c.country
        orders         | number       | count(f.order_id) -- Paid orders
        revenue_eur    | number(14,2) | sum(f.net_eur) -- Net revenue, in euros
        margin_eur     | number(14,2) | sum(f.margin_eur) -- Margin, in euros
        + discount_eur | number(14,2) | sum(f.discount_eur) -- Vouchers, in euros
        from {mart.fct_orders} f
        join {mart.dim_customers} c on c.customer_id = f.customer_id
        where f.payment_state = 'paid'
        group by f.order_day, c.country
        order by f.order_day""", tags=("certified",)),
    "mart.customer_360": Table("marketing", 29_400, """
        All that marketing knows of a customer, without the address.
        customer_id    | number        | d.customer_id
        customer_key   | varchar       | d.customer_key
        segment        | varchar       | d.segment
        orders         | number        | coalesce(o.orders, 0) -- Orders so far
        revenue_eur    | number(12,2)  | coalesce(o.revenue_eur, 0) -- Over all orders
        last_order_day | date          | o.last_order_day
        sessions_30d   | number        | s.sessions_30d
        last_seen_at   | timestamp_ntz | s.last_seen_at
        from {mart.dim_customers} d
        left join {int.customer_orders} o on o.customer_id = d.customer_id
        left join {int.customer_sessions} s on s.customer_id = d.customer_id
        where d.newsletter""", former="customer_profile"),
    "mart.channel_performance": Table("marketing", 2_900, """
        Visits and what was ordered on the same day, by channel.
        session_day | date         | s.session_day
        channel     | varchar      | s.channel
        sessions    | number       | count(distinct s.session_id) -- Visits
        orders      | number       | count(distinct o.order_id) -- On the day of the visit
        from {stg.sessions} s
        left join {mart.fct_orders} o on o.customer_id = s.customer_id and o.order_day = s.session_day
        group by s.session_day, s.channel"""),
    "mart.revenue_by_country": Table("finance", 0, """
        View: revenue of all time by country.
        country     | varchar      | d.country
        revenue_eur | number(14,2) | sum(d.revenue_eur) -- Net revenue, in euros
        from {mart.fct_daily_revenue} d
        group by d.country"""),
    "tmp.spring_audience": Table("marketing", 27_100, """
        Customers to write to in the spring campaign; dropped after use.
        customer_id | number  | c.customer_id
        segment     | varchar | c.segment
        from {mart.dim_customers} c
        where c.newsletter"""),
    "ml.customer_features": Table("machine-learning", 41_300, """
        Feature table of the churn model.
        customer_id      | number       | o.customer_id
        orders           | number       | o.orders
        revenue_eur      | number(12,2) | o.revenue_eur
        days_since_order | number       | datediff(day, o.last_order_day, current_date)
        - sessions_30d   | number       | count(s.session_id) -- Visits
        + sessions_30d   | number       | coalesce(w.sessions_30d, 0) -- Visits in the last 30 days
        from {int.customer_orders} o
        - left join {glue.sessions} s on s.customer_id = o.customer_id
        - group by o.customer_id, o.orders, o.revenue_eur, o.last_order_day
        + left join {int.customer_sessions} w on w.customer_id = o.customer_id"""),
    "model.churn": Table("machine-learning", 0, "Trained churn model, gradient boosting."),
    "ml.churn_scores": Table("machine-learning", 41_300, """
        How likely each customer is to leave.
        customer_id       | number | f.customer_id
        churn_probability | float  | churn(f.orders, f.revenue_eur, f.days_since_order, f.sessions_30d)
        from {ml.customer_features} f
        cross join {model.churn}"""),
    "bi.executive-revenue": Table("finance", 0, "Revenue of the shop, for the board."),
    "bi.customer-health": Table("marketing", 0, "Segments and churn risk, for the campaign planners."),
    "crm.Contact": Table("marketing", 29_400, """
        Contacts that the sales people write to.
        Email          | email    | c.email
        LastName       | string   | c.full_name
        Segment__c     | picklist | x.segment
        Order_Count__c | double   | x.orders
        from {mart.customer_360} x
        join {glue.customers} c on c.customer_id = x.customer_id
        where c.email is not null""", tags=("pii",)),
    "crm.CampaignMember": Table("marketing", 41_300, """
        Who is in the campaign against churn.
        Customer_Id__c | double   | s.customer_id
        Churn_Risk__c  | picklist | case when s.churn_probability > 0.7 then 'high' else 'low' end
        from {ml.churn_scores} s"""),
    "pg.customer_segments": Table("shop-backend", 29_400, """
        Segments back in the shop, for prices and mails.
        customer_id | bigint  | x.customer_id
        segment     | text    | x.segment
        churn_risk  | numeric | round(s.churn_probability, 2) -- From 0 to 1
        from {mart.customer_360} x
        left join {ml.churn_scores} s on s.customer_id = x.customer_id"""),
}  # fmt: skip
