"""The addresses of the pages. None carries a secret, but the link that proves whose the address of a new account is."""

from django.urls import path

from .privacy import PAGES
from .views import account, bringing_back, cases, chair, committee, disguised, papers, public

app_name = "hotcrp"

urlpatterns = [
    path("", public.home, name="home"),
    path("login/", account.LogIn.as_view(), name="login"),
    path("logout/", public.log_out, name="logout"),
    path("register/", public.register, name="register"),
    path("register/<str:token>/", public.RegisterConfirm.as_view(), name="register-confirm"),
    path("papers/", papers.papers, name="papers"),
    path("papers/<int:pk>/", papers.paper, name="paper"),
    path("papers/<int:pk>/review/", papers.review, name="review"),
    path("papers/<int:pk>/comment/", papers.comment, name="comment"),
    path("papers/<int:pk>/assign/", papers.assign, name="assign"),
    path("papers/<int:pk>/unassign/", papers.unassign, name="unassign"),
    path("preferences/", committee.preferences, name="preferences"),
    path("conflicts/", committee.conflicts, name="conflicts"),
    path("pc/", committee.pc, name="pc"),
    path("chair/", chair.dashboard, name="dashboard"),
    path("chair/people/", chair.people_list, name="people"),
    path("chair/anonymise/", chair.anonymise, name="anonymise"),
    path("chair/cases/", cases.cases, name="cases"),
    path("chair/cases/key/", cases.make_key, name="case-key"),
    path("chair/cases/chairs/", cases.add_chairs, name="case-chairs"),
    path("chair/cases/hand-on/", cases.hand_on, name="case-hand-on"),
    path("chair/cases/open/", cases.open_case, name="case-open"),
    path("chair/cases/<int:number>/", cases.case, name="case"),
    path("account/", account.account, name="account"),
    path("account/password/", account.change_password, name="change-password"),
    path("disguised/", disguised.Disguised.as_view(), name="disguised"),
    path("disguised/review/", disguised.EditReview.as_view(), name="disguised-review"),
    path("disguised/reclaim/", bringing_back.Reclaim.as_view(pages=PAGES), name="reclaim"),
]
