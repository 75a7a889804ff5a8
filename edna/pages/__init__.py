"""The pages that a site includes, ``path("privacy/", include("edna.urls"))``: what people do about their own data, without JavaScript.

Every page is a class-based view with a template of its own; a site subclasses the one and overrides the other. Keeps: a secret is asked
for by a form and used in the memory of that request; what may not be lost, a receipt, is in the answer to the form that made it, and in
nothing that the server writes. No page says a word of the glossary.

Does not know: keys that live in the browser.
"""
