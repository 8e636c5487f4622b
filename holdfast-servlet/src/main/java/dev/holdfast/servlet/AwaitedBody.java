package dev.holdfast.servlet;

import java.util.Optional;
import java.util.function.Consumer;

/**
 * The body of one request, for whom the request waits.
 *
 * @param exchange the request
 * @param handler takes the body
 */
record AwaitedBody(Exchange exchange, Consumer<byte[]> handler) implements BodyTaker {
    @Override
    public void whole(byte[] body) {
        handler.accept(body);
    }

    @Override
    public void refuse(Rejection rejection) {
        exchange.answer(rejection);
        exchange.push();
    }

    @Override
    public void abandon(Rejection rejection) {
        exchange.abandon(rejection);
    }

    @Override
    public void fail(Throwable failure) {
        exchange.fail(Optional.empty(), failure);
    }

    @Override
    public void end() {
        exchange.end();
    }
}
