package dev.holdfast.benchmarks.server;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import reactor.core.publisher.Mono;

/** Calls of the SDK's sessions without HTTP and without a transport: what a call costs before anybody carries it, its JSON included. */
final class SdkCalls {
    private static final byte[] CALL = """
            {"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}""".getBytes(StandardCharsets.UTF_8);

    private final McpJsonMapper json = McpJsonDefaults.getMapper();
    private final LongAdder answers = new LongAdder();
    private volatile boolean over;

    /** Keeps one call in flight on each session for a while; returns how many were answered. */
    long run(List<McpStreamableServerSession> sessions, long millis) throws InterruptedException {
        ExecutorService threads =
                Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        CountDownLatch running = new CountDownLatch(sessions.size());
        try {
            for (McpStreamableServerSession session : sessions) {
                threads.execute(() -> call(session, threads, running));
            }
            Thread.sleep(millis);
            over = true;
            running.await();
            return answers.sum();
        } finally {
            threads.shutdown();
        }
    }

    private void call(McpStreamableServerSession session, ExecutorService threads, CountDownLatch running) {
        if (over) {
            running.countDown();
            return;
        }
        JSONRPCRequest request = parse(CALL);
        session.responseStream(new Answers())
                .handle(request)
                .doFinally(signal -> threads.execute(() -> call(session, threads, running)))
                .subscribe();
    }

    private JSONRPCRequest parse(byte[] body) {
        try {
            return (JSONRPCRequest) McpSchema.deserializeJsonRpcMessage(json, new String(body, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Takes an answer as far as its bytes. */
    private final class Answers implements McpStreamableServerTransport {
        @Override
        public Mono<Void> sendMessage(JSONRPCMessage message, String id) {
            return sendMessage(message);
        }

        @Override
        public Mono<Void> sendMessage(JSONRPCMessage message) {
            return Mono.fromRunnable(() -> {
                try {
                    if (json.writeValueAsBytes(message).length > 0) {
                        answers.increment();
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }

        @Override
        public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
            return json.convertValue(data, type);
        }

        @Override
        public Mono<Void> closeGracefully() {
            return Mono.empty();
        }
    }
}
