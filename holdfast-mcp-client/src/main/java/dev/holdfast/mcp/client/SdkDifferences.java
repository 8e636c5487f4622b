package dev.holdfast.mcp.client;

import dev.holdfast.client.Requests;
import io.modelcontextprotocol.client.transport.HttpRequestSnapshot;
import io.modelcontextprotocol.client.transport.McpHttpClientTransportAuthorizationException;
import io.modelcontextprotocol.client.transport.customizer.McpHttpClientAuthorizationErrorHandler;
import io.modelcontextprotocol.client.transport.customizer.McpHttpClientTransportAuthorizationErrorHandler;
import io.modelcontextprotocol.spec.McpTransportException;
import io.modelcontextprotocol.spec.McpTransportSessionClosedException;
import java.lang.reflect.Constructor;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.ResponseInfo;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/**
 * What differs for a client between the supported versions of mcp-core. Versions before 1.1 have no types for refused credentials. 1.1 has
 * an exception and a handler that see the response; from 2.0 on both see the request too. The exception for a closed transport has a
 * constructor without arguments from 2.0 on.
 */
final class SdkDifferences {
    private static final FailureFactory FAILURES = failures();

    private SdkDifferences() {}

    /** Makes the exceptions of a version; as they are before 2.0 unless it says otherwise. */
    private interface FailureFactory {
        RuntimeException unauthorized(String message, HttpRequest request, ResponseInfo response);

        @SuppressWarnings("removal")
        default RuntimeException closed() {
            return new McpTransportSessionClosedException(null);
        }
    }

    /** Not loaded where the SDK does not have these types. */
    private static final class Sdk2 implements FailureFactory {
        @Override
        public RuntimeException unauthorized(String message, HttpRequest request, ResponseInfo response) {
            return new McpHttpClientTransportAuthorizationException(message, snapshot(request), response);
        }

        @Override
        public RuntimeException closed() {
            return new McpTransportSessionClosedException();
        }
    }

    private static FailureFactory failures() {
        try {
            Class<?> exception = Class.forName(
                    "io.modelcontextprotocol.client.transport.McpHttpClientTransportAuthorizationException");
            for (Constructor<?> constructor : exception.getConstructors()) {
                if (constructor.getParameterCount() == 2) {
                    return (message, request, response) -> made(constructor, message, response);
                }
            }
            return new Sdk2();
        } catch (ClassNotFoundException e) {
            return (message, request, response) -> new McpTransportException(message);
        }
    }

    private static RuntimeException made(Constructor<?> constructor, String message, ResponseInfo response) {
        try {
            return (RuntimeException) constructor.newInstance(message, response);
        } catch (ReflectiveOperationException e) {
            return new McpTransportException(message, e);
        }
    }

    /** The head of an answer. */
    private record Head(int statusCode, HttpHeaders headers) implements ResponseInfo {
        @Override
        public HttpClient.Version version() {
            return HttpClient.Version.HTTP_1_1;
        }
    }

    /** The exception for status 401 or 403. */
    static RuntimeException unauthorized(String message, HttpRequest request, int status, HttpHeaders headers) {
        return FAILURES.unauthorized(message, request, new Head(status, headers));
    }

    /** The exception for what is sent after the close. */
    static RuntimeException closed() {
        return FAILURES.closed();
    }

    private static HttpRequestSnapshot snapshot(HttpRequest request) {
        return new HttpRequestSnapshot(request.uri(), request.method(), request.headers());
    }

    static Requests.AuthorizationHandler by(McpHttpClientTransportAuthorizationErrorHandler handler) {
        return (request, status, headers, times, context) -> sentAgain(
                times < handler.maxRetries(),
                () -> handler.handle(
                        snapshot(request), new Head(status, headers), Customizers.transportContext(context)),
                context);
    }

    /** A handler that does not see the request. */
    @SuppressWarnings("removal")
    static Requests.AuthorizationHandler byResponse(McpHttpClientAuthorizationErrorHandler handler) {
        return (request, status, headers, times, context) -> sentAgain(
                times < handler.maxRetries(),
                () -> handler.handle(new Head(status, headers), Customizers.transportContext(context)),
                context);
    }

    private static CompletableFuture<Boolean> sentAgain(
            boolean retries, Supplier<Publisher<Boolean>> handling, Object context) {
        return retries
                ? Mono.from(handling.get())
                        .contextWrite(Customizers.reactorContext(context))
                        .defaultIfEmpty(false)
                        .toFuture()
                : CompletableFuture.completedFuture(false);
    }
}
