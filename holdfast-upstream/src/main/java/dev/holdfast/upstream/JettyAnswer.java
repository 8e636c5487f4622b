package dev.holdfast.upstream;

import java.io.EOFException;
import java.net.http.HttpClient.Version;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.ResponseInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.client.Response;
import org.eclipse.jetty.client.Result;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.io.Content;
import org.jspecify.annotations.Nullable;

/** An answer on its way to who takes it: read as far as that one asks for it, by one thread at a time. */
final class JettyAnswer implements Flow.Subscription {
    private final Request request;
    private final BodyHandler<?> handler;
    private final CompletableFuture<@Nullable Void> end = new CompletableFuture<>();
    /** So many parts are asked for. Above zero there is a demand, or somebody reads. */
    private final AtomicLong wanted = new AtomicLong();

    private volatile @Nullable BodySubscriber<?> taker;
    private volatile Content.@Nullable Source source;

    private record Head(int statusCode, HttpHeaders headers) implements ResponseInfo {
        @Override
        public Version version() {
            return Version.HTTP_1_1;
        }

        private static Head of(Response response) {
            Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            for (HttpField field : response.getHeaders()) {
                headers.computeIfAbsent(field.getName(), name -> new ArrayList<>(1))
                        .add(Objects.requireNonNullElse(field.getValue(), ""));
            }
            return new Head(response.getStatus(), HttpHeaders.of(headers, (name, value) -> true));
        }
    }

    JettyAnswer(Request request, BodyHandler<?> handler) {
        this.request = request;
        this.handler = handler;
    }

    /** Completes once the whole answer was taken. */
    CompletableFuture<@Nullable Void> end() {
        return end;
    }

    /** The head has come. */
    void begin(Response response, Content.Source body) {
        source = body;
        BodySubscriber<?> taking = handler.apply(Head.of(response));
        taker = taking;
        taking.onSubscribe(this);
    }

    @Override
    public void request(long parts) {
        Content.Source body = source;
        if (wanted.getAndAccumulate(parts, JettyAnswer::sum) == 0 && body != null) {
            body.demand(this::read);
        }
    }

    private static long sum(long left, long more) {
        return left + more < 0 ? Long.MAX_VALUE : left + more;
    }

    private void read() {
        Content.Source body = Objects.requireNonNull(source);
        BodySubscriber<?> taking = Objects.requireNonNull(taker);
        boolean goOn = true;
        while (goOn) {
            Content.Chunk chunk = body.read();
            if (chunk == null) {
                body.demand(this::read);
                return;
            }
            goOn = take(chunk, taking);
        }
    }

    /** Passes a part on; false if the next one is not to be read yet, or there is none. */
    private boolean take(Content.Chunk chunk, BodySubscriber<?> taking) {
        if (Content.Chunk.isFailure(chunk)) {
            taking.onError(chunk.getFailure());
            return false;
        }
        boolean last = chunk.isLast();
        boolean some = chunk.hasRemaining();
        try {
            if (some) {
                taking.onNext(List.of(chunk.getByteBuffer()));
            }
        } finally {
            chunk.release();
        }
        if (last) {
            taking.onComplete();
        }
        return !last && (!some || wanted.decrementAndGet() > 0);
    }

    @Override
    public void cancel() {
        request.abort(new CancellationException("not wanted any more"));
    }

    /** Nothing more comes. */
    void ended(Result result) {
        BodySubscriber<?> taking = taker;
        Throwable failure = result.getFailure();
        if (taking == null) {
            end.completeExceptionally(failure == null ? new EOFException("there is no answer") : failure);
            return;
        }
        if (failure != null) {
            taking.onError(failure);
        }
        taking.getBody().whenComplete((taken, broken) -> {
            if (broken == null) {
                end.complete(null);
            } else {
                end.completeExceptionally(broken);
            }
        });
    }
}
