package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.StreamReader;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonParts;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.ModernAnswer;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.json.ToolHeaders;
import dev.holdfast.modern.Carrier;
import dev.holdfast.modern.Carriers;
import dev.holdfast.modern.KeptCalls;
import dev.holdfast.modern.ModernCall;
import dev.holdfast.modern.Subscription;
import dev.holdfast.servlet.guard.Accept;
import dev.holdfast.servlet.guard.ModernGuard;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.NextStep;
import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.sse.ModernFraming;
import dev.holdfast.servlet.sse.SseConnection;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Streamable HTTP as revision 2026-07-28 has it: each POST stands alone, and the end of its connection cancels it. What it asks for is a
 * call of a session that Holdfast keeps by itself.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http">MCP 2026-07-28,
 *     Streamable HTTP</a>
 */
final class ModernHttp {
    static final String DISCOVER = "server/discover";
    private static final String NOTHING_WAITS = "requestState names no request that waits for answers";
    private static final int MOST_ANSWERS = 256;
    /** What sessions had, and other revisions have. */
    private static final Set<String> REMOVED = Set.of(
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/list",
            "tasks/result");

    private final Protocol http;
    private final Carriers carriers;
    private final KeptCalls kept;
    /** Gives answers to backends; a handler may go on there. */
    private final BlockingPool answering = new BlockingPool("holdfast-answer", MOST_ANSWERS, MOST_ANSWERS);

    /** Serves the engine of a protocol whose requests name sessions, on the same path. */
    ModernHttp(Protocol http) {
        EdgeOptions options = http.options;
        // a result is kept so long after its call, which may have begun just now
        Duration keep = options.lifetime().call().plus(options.taskRetention());
        this.http = http;
        this.carriers = new Carriers(
                http.engine,
                options.isolation() == Isolation.REQUEST,
                options.isolation() == Isolation.SHARED,
                options.lifetime(),
                keep,
                answer -> {
                    if (!answering.offer(answer)) {
                        answer.run();
                    }
                });
        this.kept = new KeptCalls(http.engine, carriers, options.taskAfter(), keep);
    }

    /** Begins what it does by itself; called once, before the first request. */
    void start() {
        carriers.start();
    }

    /** The backend is another for what begins. */
    void renew() {
        carriers.renew();
    }

    /** Ends what it does by itself. */
    void stop() {
        carriers.stop();
        answering.stop();
    }

    /** Does what a body asks for that is JSON-RPC. */
    NextStep take(Exchange exchange, EnvelopeReader.Parsed parsed, int bytes) {
        if (!(parsed instanceof EnvelopeReader.Single single)) {
            return exchange.reply(Rejection.malformed("this revision has no batches: POST one message at a time"));
        }
        Envelope message = single.message();
        exchange.about(message.id());
        boolean request = message.kind() == Envelope.Kind.REQUEST;
        if (!request && message.kind() != Envelope.Kind.NOTIFICATION) {
            return exchange.reply(
                    Rejection.malformed(
                            "a client of this revision sends requests and notifications: an answer goes into the retry of its request"));
        }
        RequestMeta meta = RequestMeta.of(message);
        Optional<Rejection> rejection = ModernGuard.check(exchange.request(), message, meta)
                .or(() -> exchange.body().handle(bytes, message.tokens()));
        if (rejection.isPresent()) {
            return exchange.reply(rejection.get().to(message.id()));
        }
        if (!request) {
            // this revision has none that a server would act on
            return exchange.status(202);
        }
        if (REMOVED.contains(message.method())) {
            return exchange.reply(Rejection.of(
                    Refusal.NOT_SERVED, 404, JsonRpc.METHOD_NOT_FOUND, "Method not found: " + message.method()));
        }
        return switch (message.method()) {
            case DISCOVER -> carried(exchange, message, meta, carrier -> discover(exchange, carrier, message));
            case "subscriptions/listen" -> listen(exchange, message, meta);
            case "tasks/get", "tasks/update", "tasks/cancel" -> task(exchange, message, meta);
            default ->
                message.retries()
                        ? retry(exchange, message, meta)
                        : carried(exchange, message, meta, carrier -> call(exchange, carrier, message, meta));
        };
    }

    /** Goes on with a carrier for the request. */
    private NextStep carried(Exchange exchange, Envelope message, RequestMeta meta, Function<Carrier, NextStep> then) {
        CompletionStage<Carriers.Taking> taking = carriers.take(exchange.principal(), meta, exchange.context());
        return exchange.when(
                taking,
                taken -> {
                    if (taken instanceof Carriers.Taken there) {
                        return carriedBy(there.carrier(), then);
                    } else if (taken instanceof Carriers.Full full) {
                        return exchange.reply(Rejection.of(full.reason()));
                    }
                    return exchange.reply(
                            declined(((Carriers.Declined) taken).error()).to(message.id()));
                },
                taken -> {
                    if (taken instanceof Carriers.Taken there) {
                        there.carrier().release();
                    }
                    return false;
                });
    }

    /** Why a server does not open is no fault of the request, as its code would say. */
    private static Rejection declined(OutboundMessage error) {
        AnswerFacts why = AnswerFacts.ofError(error.bytes());
        return Rejection.of(
                        Refusal.BACKEND_OPENING,
                        503,
                        JsonRpc.INTERNAL_ERROR,
                        "the server does not open: " + why.message().orElse("it does not say why"))
                .about("{\"code\":"
                        + JsonParts.raw(error.bytes(), "error", "code").orElse("null") + "}");
    }

    /** What fails before it has begun leaves the carrier to others. */
    private static NextStep carriedBy(Carrier carrier, Function<Carrier, NextStep> then) {
        try {
            return then.apply(carrier);
        } catch (Throwable e) {
            carrier.release();
            throw e;
        }
    }

    private static NextStep discover(Exchange exchange, Carrier carrier, Envelope message) {
        RequestId id = message.id().orElseThrow();
        byte[] discovered = carrier.introduction().discovered(id, ModernGuard.SUPPORTED);
        byte[] answer = ModernAnswer.of(
                        discovered, DISCOVER, id, carrier.introduction().serverInfo())
                .bytes();
        carrier.release();
        return () -> exchange.message(answer);
    }

    private NextStep call(Exchange exchange, Carrier carrier, Envelope message, RequestMeta meta) {
        Optional<Rejection> different = different(exchange, message, carrier.tools());
        if (different.isPresent()) {
            carrier.release();
            return () -> exchange.reply(different.get());
        }
        InboundMessage request = carrier.named(message).inbound(exchange.context());
        CompletionStage<Call.Outcome> calling = carrier.session()
                .call(List.of(request))
                .whenComplete((outcome, failure) -> {
                    if (failure != null) {
                        carrier.release();
                    }
                });
        return exchange.when(
                calling, outcome -> called(exchange, carrier, outcome, message, request, meta), outcome -> {
                    if (outcome instanceof Call.Accepted accepted) {
                        Call call = accepted.call();
                        call.whenOver(() -> carrier.leave(call.givenUp()));
                        ModernCall left = kept.begun(carrier, call, message, meta, request, exchange.principal());
                        call.reader()
                                .ifPresent(reader -> new RequestReader(reader, left).close(StreamReader.Close.BROKEN));
                    } else {
                        carrier.release();
                    }
                    return false;
                });
    }

    private static Optional<Rejection> different(Exchange exchange, Envelope message, ToolHeaders tools) {
        return message.method().equals("tools/call")
                ? ModernGuard.checkParams(exchange.request(), message, tools)
                        .map(rejection -> rejection.to(message.id()))
                : Optional.empty();
    }

    private NextStep called(
            Exchange exchange,
            Carrier carrier,
            Call.Outcome outcome,
            Envelope message,
            InboundMessage request,
            RequestMeta meta) {
        if (outcome instanceof Call.Accepted accepted) {
            Call call = accepted.call();
            Runnable used = exchange.body().use();
            call.whenOver(() -> {
                used.run();
                carrier.leave(call.givenUp());
            });
            ModernCall answering = kept.begun(carrier, call, message, meta, request, exchange.principal());
            Runnable unstored = () ->
                    exchange.send(JsonRpc.errorBody(message.id(), JsonRpc.INTERNAL_ERROR, StreamableHttp.NOT_STORED));
            Optional<SseConnection> connection = stream(exchange, call.reader().orElseThrow(), answering, unstored);
            return Protocol.dispatched(exchange, carrier.session(), call, connection);
        }
        carrier.release();
        if (outcome instanceof Call.Refused refused) {
            return exchange.reply(Rejection.of(refused.reason()));
        } else if (outcome instanceof Call.Closed closed) {
            return exchange.reply(Rejection.of(
                    closed.reason().advice() == EndReason.Advice.RECONNECT
                            ? Refusal.DRAINING
                            : Refusal.BACKEND_OPENING));
        }
        return exchange.message(JsonRpc.errorBody(message.id(), JsonRpc.INTERNAL_ERROR, Call.Undecided.TEXT));
    }

    private Optional<SseConnection> stream(
            Exchange exchange, StreamReader reader, ModernCall call, @Nullable Runnable unstored) {
        return http.stream(
                exchange,
                new RequestReader(reader, call),
                () -> new ModernFraming(call, form(exchange)),
                unstored,
                null);
    }

    private static ModernFraming.Form form(Exchange exchange) {
        return switch (exchange.accept()) {
            case JSON -> ModernFraming.Form.JSON;
            case EVENT_STREAM -> ModernFraming.Form.STREAM;
            default -> ModernFraming.Form.UNDECIDED;
        };
    }

    private static NextStep withoutTasks(Exchange exchange) {
        return exchange.reply(Rejection.of(
                        Refusal.NOT_SERVED,
                        400,
                        JsonRpc.MISSING_CAPABILITY,
                        "Missing required client capability: io.modelcontextprotocol/tasks")
                .about("{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"));
    }

    /** Lets a client listen, until it closes the connection. */
    private NextStep listen(Exchange exchange, Envelope message, RequestMeta meta) {
        if (exchange.accept() == Accept.JSON) {
            return exchange.reply(
                    Rejection.malformed("subscriptions/listen is answered by a stream: accept text/event-stream"));
        }
        if (!meta.tasks()
                && JsonParts.raw(message.bytes(), "params", "notifications", "taskIds")
                        .isPresent()) {
            return withoutTasks(exchange);
        }
        Optional<String> excess = Subscription.excess(message);
        if (excess.isPresent()) {
            return invalid(exchange, message.id().orElseThrow(), excess.get());
        }
        return carried(
                exchange,
                message,
                meta,
                carrier -> exchange.when(
                        kept.listen(carrier, message, exchange.principal()),
                        subscription -> {
                            if (subscription.isEmpty()) {
                                return exchange.reply(Rejection.of(Refusal.DRAINING));
                            }
                            Subscription listening = subscription.get();
                            http.stream(
                                            exchange,
                                            listening,
                                            () -> new ModernFraming(listening, form(exchange)),
                                            null,
                                            null)
                                    .ifPresent(connection -> {
                                        connection.listensUntil(exchange.validUntil());
                                        connection.startNow();
                                    });
                            return NextStep.DONE;
                        },
                        subscription -> {
                            subscription.ifPresent(left -> left.close(StreamReader.Close.BROKEN));
                            return false;
                        }));
    }

    /** Serves what a client asks about one of its tasks. */
    private NextStep task(Exchange exchange, Envelope message, RequestMeta meta) {
        if (!meta.tasks()) {
            return withoutTasks(exchange);
        }
        RequestId id = message.id().orElseThrow();
        String taskId = JsonParts.string(message.bytes(), "params", "taskId").orElse("");
        return exchange.when(kept.find(taskId, exchange.principal(), true), found -> {
            if (found.isEmpty()) {
                return invalid(exchange, id, "Task not found");
            }
            KeptCalls.KeptCall task = found.get();
            return switch (message.method()) {
                case "tasks/get" -> exchange.message(kept.task(task, id));
                case "tasks/update" ->
                    exchange.when(
                            kept.answer(task, message, exchange.context()), open -> exchange.message(kept.done(id)));
                default -> exchange.when(kept.cancel(task), done -> exchange.message(kept.done(id)));
            };
        });
    }

    private static NextStep invalid(Exchange exchange, RequestId id, String message) {
        return exchange.message(JsonRpc.errorBody(Optional.of(id), JsonRpc.INVALID_PARAMS, message));
    }

    /** A client has come back with what it was asked for. */
    private NextStep retry(Exchange exchange, Envelope message, RequestMeta meta) {
        RequestId id = message.id().orElseThrow();
        String state =
                JsonParts.string(message.bytes(), "params", "requestState").orElse("");
        return exchange.when(kept.find(state, exchange.principal(), false), found -> {
            Optional<KeptCalls.KeptCall> call = found.filter(there -> kept.isRetry(there, message));
            if (call.isEmpty()) {
                return invalid(exchange, id, NOTHING_WAITS);
            }
            Optional<Rejection> different = different(exchange, message, kept.tools(call.get()));
            return different.isPresent()
                    ? exchange.reply(different.get())
                    : exchange.when(
                            kept.answer(call.get(), message, exchange.context()),
                            open -> open.isEmpty()
                                    ? goOn(exchange, call.get(), message, meta)
                                    : exchange.message(kept.askAgain(call.get(), id, open)));
        });
    }

    private NextStep goOn(Exchange exchange, KeptCalls.KeptCall call, Envelope message, RequestMeta meta) {
        return exchange.when(
                kept.comeBack(call),
                resume -> {
                    Optional<StreamReader> reader = resume.attached();
                    if (reader.isPresent()) {
                        stream(exchange, reader.get(), kept.goesOn(call, message, meta), null)
                                .ifPresent(SseConnection::start);
                        return NextStep.DONE;
                    }
                    return resume instanceof Resume.Closed closed
                            ? exchange.reply(closed.reason())
                            : invalid(exchange, message.id().orElseThrow(), NOTHING_WAITS);
                },
                resume -> {
                    resume.attached()
                            .ifPresent(reader -> new RequestReader(reader, kept.goesOn(call, message, meta))
                                    .close(StreamReader.Close.BROKEN));
                    return false;
                });
    }

    /** The reader of one request's stream: what its end means is for the request to say. */
    private record RequestReader(StreamReader reader, ModernCall call) implements StreamReader {
        @Override
        public void close(Close how) {
            if (how == Close.BROKEN && reader.read(1) instanceof End end && end.reason() == EndReason.SUPERSEDED) {
                call.superseded();
            }
            reader.close(call.closed(how));
        }

        @Override
        public String position() {
            return reader.position();
        }

        @Override
        public String position(Event event) {
            return reader.position(event);
        }

        @Override
        public void wakeWith(Waker waker) {
            reader.wakeWith(waker);
            call.wakeWith(waker);
        }

        @Override
        public void positionTold() {
            reader.positionTold();
        }

        @Override
        public boolean recorded() {
            return reader.recorded();
        }

        @Override
        public Next read(int maxBytes) {
            Next next = reader.read(maxBytes);
            return next == Rest.REST
                    ? call.due(reader.position())
                            .<Next>map(event -> new Events(List.of(event)))
                            .orElse(next)
                    : next;
        }

        @Override
        public void wrote(long began, long completed) {
            reader.wrote(began, completed);
        }
    }
}
