package dev.holdfast.servlet.http;

import dev.holdfast.servlet.body.BodyTaker;
import dev.holdfast.servlet.guard.Rejection;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Hands the body of one request to its handler, or answers the request where the body does not arrive.
 *
 * @param answer the answer to the request
 * @param handler takes the body
 */
record AwaitedBody(Answer answer, Consumer<byte[]> handler) implements BodyTaker {
    @Override
    public void whole(byte[] body) {
        handler.accept(body);
    }

    @Override
    public void refuse(Rejection rejection) {
        answer.send(rejection);
    }

    @Override
    public void abandon(Rejection rejection) {
        answer.abandon(rejection);
    }

    @Override
    public void fail(Throwable failure) {
        answer.fail(Optional.empty(), failure);
    }

    @Override
    public void end() {
        answer.end();
    }
}
