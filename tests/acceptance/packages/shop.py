"""Three customers who reviewed the same book, voted on each other's reviews, and have orders, baskets and wish lists."""

from decimal import Decimal

from oscar.apps.address.models import Country, UserAddress
from oscar.apps.analytics.models import UserRecord
from oscar.apps.basket.models import Basket
from oscar.apps.catalogue.models import Product, ProductClass
from oscar.apps.catalogue.reviews.models import ProductReview, Vote
from oscar.apps.communication.models import Email, Notification
from oscar.apps.customer.models import ProductAlert
from oscar.apps.order.models import BillingAddress, Order, OrderNote, ShippingAddress
from oscar.apps.partner.models import Partner, StockRecord
from oscar.apps.wishlists.models import Line, WishList, WishListSharedEmail
from stories import prepared, registered, told

prepared()
people, keys = registered("beatrix", "carlotta", "dorothea")
country = Country.objects.create(iso_3166_1_a2="AT", printable_name="Austria", name="Austria")
book = Product.objects.create(
    title="A book", product_class=ProductClass.objects.create(name="Books"), structure="standalone"
)
stock = StockRecord.objects.create(
    product=book, partner=Partner.objects.create(name="Press"), partner_sku="1", price=Decimal(9)
)
for person in people:
    where = {"first_name": person.username, "last_name": person.username, "line1": f"{person.username} Lane 3"}
    where |= {"line4": "Town", "postcode": "1010", "country": country}
    UserAddress.objects.create(user=person, **where)
    UserRecord.objects.create(user=person, num_orders=1)
    ProductAlert.objects.create(product=book, user=person, status="Active")
    basket = Basket.objects.create(owner=person)
    basket.lines.create(product=book, stockrecord=stock, line_reference="1_1", quantity=2)
    Order.objects.create(
        number=f"1000{person.pk}",
        user=person,
        basket=basket,
        currency="EUR",
        total_incl_tax=9,
        total_excl_tax=9,
        billing_address=BillingAddress.objects.create(**where),
        shipping_address=ShippingAddress.objects.create(**where, notes=f"ring at {person.username}"),
    )
    Email.objects.create(user=person, email=person.email, subject=f"Order of {person.username}", body_text="Thanks")
    ProductReview.objects.create(product=book, user=person, score=4, title="Good", body="I read it", status=1)
    wishes = WishList.objects.create(owner=person, name=f"For {person.username}", visibility="Shared")
    Line.objects.create(wishlist=wishes, product=book, title=book.title)
for one in people:
    for other in (each for each in people if each != one):
        Vote.objects.create(review=ProductReview.objects.get(user=other), user=one, delta=1)
        Notification.objects.create(recipient=other, sender=one, subject=f"{one.username} likes it", body="So do I")
        OrderNote.objects.create(order=Order.objects.get(user=other), user=one, message=f"Packed by {one.username}")
        WishListSharedEmail.objects.create(wishlist=WishList.objects.get(owner=one), email=other.email)
SAID = told("privacy.leave-shop", people, keys)
