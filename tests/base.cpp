// Only here to have the headers of the tests precompiled.
