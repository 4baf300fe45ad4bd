"""Every error is answered as problem+json."""


def test_what_is_not_there_is_a_problem(client):
    answer = client.get("/api/v1/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 404
