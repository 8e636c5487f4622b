package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.log.Step;
import dev.holdfast.spi.BackendConnection;
import java.util.List;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hands the requests of a call to the backend; those that were cancelled or answered meanwhile stay here. */
final class CallDispatch implements BackendUser {
    private static final Logger logger = LoggerFactory.getLogger(CallDispatch.class);

    private final SessionCore core;
    private final CallEnding calls;
    private final LiveCall call;
    private final Executor caller;
    private List<RequestSink.Handed> handed = List.of();
    private int to;

    CallDispatch(SessionCore core, CallEnding calls, LiveCall call, Executor caller) {
        this.core = core;
        this.calls = calls;
        this.call = call;
        this.caller = caller;
    }

    @Override
    public long bytes() {
        return call.sinks().stream()
                .mapToLong(sink -> sink.request().bytes().length)
                .sum();
    }

    @Override
    public Object context() {
        return call.sinks().get(0).request().context();
    }

    @Override
    public void handedTo(int incarnation, Step step) {
        to = incarnation;
        handed = call.hand(incarnation);
    }

    @Override
    public void use(BackendConnection connection) {
        caller.execute(() -> start(connection));
    }

    private void start(BackendConnection connection) {
        for (RequestSink.Handed each : handed) {
            if (each.sink().open()) {
                start(connection, each);
            }
        }
    }

    @Override
    public void refused(String cause) {
        call.sinks().forEach(sink -> calls.failNow(sink, cause));
        dropped();
    }

    @Override
    public void dropped() {
        caller.execute(() -> {});
    }

    private void start(BackendConnection connection, RequestSink.Handed each) {
        CallWatch.Scope current = CallWatch.Scope.NONE;
        try {
            current = each.watch().enter();
            connection.call(each.request(), each.way());
            if (each.sink().entering()) {
                calls.entered(each.sink(), to);
            }
        } catch (Throwable e) {
            logger.error(
                    "session {}: the backend failed on {}",
                    core.shortId(),
                    each.request().method(),
                    e);
            calls.thrown(each.sink(), to);
        } finally {
            current.close();
            // an interrupt that its handler leaves behind is not for what comes next on this thread
            boolean unused = Thread.interrupted();
        }
    }
}
