"""The addresses of the pages. None of them ever carries a secret, nor ties a person to an anonymous answer."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from .forms import LoginForm
from .views import account, lectures, public, staff

app_name = "websubmit"

login = account.LogIn.as_view(
    template_name="websubmit/login.html",
    authentication_form=LoginForm,
    next_page="websubmit:lectures",
    redirect_authenticated_user=True,
)

urlpatterns = [
    path("", public.home, name="home"),
    path("register/", public.register, name="register"),
    path("login/", login, name="login"),
    path("logout/", LogoutView.as_view(next_page="websubmit:home"), name="logout"),
    path("return/", public.come_back, name="return"),
    path("forgotten/", public.recover, name="recover"),
    path("api/answers/", public.api_answers, name="api-answers"),
    path("lectures/", lectures.lectures, name="lectures"),
    path("lectures/<int:pk>/", lectures.lecture, name="lecture"),
    path("anonymised/", lectures.anonymised, name="anonymised"),
    path("anonymised/edit/", lectures.edit_anonymised, name="anonymised-edit"),
    path("anonymised/reclaim/", lectures.reclaim, name="reclaim"),
    path("anonymised/give-up/", lectures.give_up, name="give-up"),
    path("account/", account.account, name="account"),
    path("account/key/", account.make_key, name="make-key"),
    path("account/recovery-code/", account.recovery_code, name="recovery-code"),
    path("account/password/", account.change_password, name="change-password"),
    path("account/delete/", account.delete, name="delete"),
    path("staff/lectures/", staff.lectures, name="staff-lectures"),
    path("staff/lectures/<int:pk>/", staff.lecture, name="staff-lecture"),
    path("staff/lectures/<int:pk>/answers/", staff.answers, name="staff-answers"),
    path("staff/questions/<int:pk>/", staff.question, name="staff-question"),
    path("staff/users/", staff.users, name="staff-users"),
    path("staff/anonymise/", staff.anonymise, name="staff-anonymise"),
    path("staff/anonymise/all/", staff.anonymise_all, name="staff-anonymise-all"),
    path("staff/anonymise/<int:pk>/", staff.anonymise_lecture, name="staff-anonymise-lecture"),
]
