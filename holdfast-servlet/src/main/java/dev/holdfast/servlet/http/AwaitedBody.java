package dev.holdfast.servlet.http;

import dev.holdfast.servlet.body.BodyTaker;
import dev.holdfast.servlet.body.RequestMemory;
import dev.holdfast.servlet.guard.Rejection;
import java.util.Optional;
import java.util.function.Function;

/**
 * Goes on with a request when its body has arrived, or answers it where the body does not arrive.
 *
 * @param exchange the request
 * @param then takes the body, and returns the next step
 */
record AwaitedBody(Exchange exchange, Function<byte[], Step> then) implements BodyTaker {
    @Override
    public RequestMemory memory() {
        return exchange.memory();
    }

    @Override
    public void whole(byte[] body) {
        exchange.follow(() -> then.apply(body));
    }

    @Override
    public void refuse(Rejection rejection) {
        exchange.answer().send(rejection);
    }

    @Override
    public void abandon(Rejection rejection) {
        exchange.answer().abandon(rejection);
    }

    @Override
    public void fail(Throwable failure) {
        exchange.answer().fail(Optional.empty(), failure);
    }

    @Override
    public void end() {
        exchange.answer().end();
    }
}
