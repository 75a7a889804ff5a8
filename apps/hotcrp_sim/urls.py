"""The addresses of the pages. None carries a secret, but the link that proves whose the address of a new account is."""

from django.urls import path

from .views import account, chair, committee, disguised, papers, public

app_name = "hotcrp"

urlpatterns = [
    path("", public.home, name="home"),
    path("login/", public.log_in, name="login"),
    path("logout/", public.log_out, name="logout"),
    path("register/", public.register, name="register"),
    path("register/<str:token>/", public.register_confirm, name="register-confirm"),
    path("return/", public.come_back, name="return"),
    path("forgotten/", public.recover, name="recover"),
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
    path("account/", account.account, name="account"),
    path("account/key/", account.make_key, name="make-key"),
    path("account/recovery-code/", account.recovery_code, name="recovery-code"),
    path("account/password/", account.change_password, name="change-password"),
    path("account/remove/", account.remove, name="remove"),
    path("disguised/", disguised.disguised, name="disguised"),
    path("disguised/review/", disguised.edit_review, name="disguised-review"),
    path("disguised/reclaim/", disguised.reclaim, name="reclaim"),
    path("disguised/give-up/", disguised.give_up, name="give-up"),
    path("disguised/finish/", disguised.finish, name="finish"),
]
