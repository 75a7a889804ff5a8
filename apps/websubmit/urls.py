"""The addresses of the pages. None of them ever carries a secret, nor ties a person to an anonymous answer."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from .views import account, lectures, public, staff

app_name = "websubmit"

urlpatterns = [
    path("", public.home, name="home"),
    path("register/", public.Register.as_view(), name="register"),
    path("login/", account.LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(next_page="websubmit:home"), name="logout"),
    path("api/answers/", public.api_answers, name="api-answers"),
    path("lectures/", lectures.lectures, name="lectures"),
    path("lectures/<int:pk>/", lectures.lecture, name="lecture"),
    path("anonymised/", lectures.Anonymised.as_view(), name="anonymised"),
    path("anonymised/edit/", lectures.EditAnonymised.as_view(), name="anonymised-edit"),
    path("account/", account.account, name="account"),
    path("account/password/", account.ChangePassword.as_view(), name="change-password"),
    path("staff/lectures/", staff.lectures, name="staff-lectures"),
    path("staff/lectures/<int:pk>/", staff.lecture, name="staff-lecture"),
    path("staff/lectures/<int:pk>/answers/", staff.answers, name="staff-answers"),
    path("staff/questions/<int:pk>/", staff.question, name="staff-question"),
    path("staff/users/", staff.users, name="staff-users"),
    path("staff/anonymise/", staff.anonymise, name="staff-anonymise"),
    path("staff/anonymise/all/", staff.anonymise_all, name="staff-anonymise-all"),
    path("staff/anonymise/<int:pk>/", staff.anonymise_lecture, name="staff-anonymise-lecture"),
]
