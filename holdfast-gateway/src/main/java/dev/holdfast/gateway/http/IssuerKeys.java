package dev.holdfast.gateway.http;

import com.nimbusds.jose.KeySourceException;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jose.util.JSONObjectUtils;
import dev.holdfast.LogThrottle;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys by which an OAuth authorization server signs its tokens, where its metadata says they are. No request waits for them: one whose
 * key is not there has them fetched anew, which is begun every five seconds at most, and is to come back. While the server is away the keys
 * that it had stay.
 *
 * @see <a href="https://www.rfc-editor.org/rfc/rfc8414#section-3">RFC 8414, obtaining authorization server metadata</a>
 */
public final class IssuerKeys implements JWKSource<SecurityContext> {
    private static final Logger log = LoggerFactory.getLogger(IssuerKeys.class);
    /** How long after an attempt the next one may begin: whoever sends tokens with unknown keys must not ask the server by that. */
    static final Duration PAUSE = Duration.ofSeconds(5);

    private static final long ANSWER_SECONDS = 5;
    private static final int MOST_BYTES = 1 << 20;
    private static final String OPENID = "/.well-known/openid-configuration";
    private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.\\d{1,3}){3}|\\[::1]");

    private final URI issuer;
    private final LongSupplier clock;
    private final LogThrottle complaints;
    private final HttpClient http = HttpClient.newBuilder()
            .connectTimeout(Duration.ofSeconds(ANSWER_SECONDS))
            .build();
    /** The attempt under way, or the last one. */
    private volatile Attempt attempt;

    private volatile @Nullable JWKSet keys;
    private volatile boolean failed;

    /** An attempt to fetch the keys. */
    private record Attempt(long begun, CompletableFuture<Void> end) {}

    /**
     * The keys of a server, none of which is fetched yet.
     *
     * @param clock nanoseconds
     */
    public IssuerKeys(URI issuer, LongSupplier clock) {
        this.issuer = issuer;
        this.clock = clock;
        this.complaints = new LogThrottle(1, clock);
        this.attempt = new Attempt(clock.getAsLong() - PAUSE.toNanos(), CompletableFuture.completedFuture(null));
    }

    /** Whether what is fetched from there comes from there: over TLS, or from this machine. */
    public static boolean isSafe(String url) {
        try {
            URI uri = new URI(url);
            String host = uri.getHost();
            return host != null
                    && uri.getRawUserInfo() == null
                    && uri.getRawFragment() == null
                    && (url.startsWith("https://")
                            || (url.startsWith("http://")
                                    && LOOPBACK.matcher(host).matches()));
        } catch (URISyntaxException e) {
            return false;
        }
    }

    @Override
    public List<JWK> get(JWKSelector selector, @Nullable SecurityContext context) throws KeySourceException {
        while (true) {
            boolean fetched = attempt.end.isDone();
            @Nullable JWKSet now = keys;
            List<JWK> found = now == null ? List.of() : selector.select(now);
            if (!found.isEmpty()) {
                return found;
            }
            boolean pauses = refresh().isDone();
            if (!fetched || !pauses || now == null || failed) {
                throw new KeySourceException("the keys of " + issuer + " are not there yet");
            }
            if (now.equals(keys)) {
                return found;
            }
        }
    }

    /** Fetches the keys again, unless that was begun just now; completes when they are there, or could not be had. */
    public CompletableFuture<Void> refresh() {
        Attempt next = new Attempt(clock.getAsLong(), new CompletableFuture<>());
        synchronized (this) {
            if (!attempt.end.isDone() || next.begun - attempt.begun < PAUSE.toNanos()) {
                return attempt.end;
            }
            attempt = next;
        }
        CompletableFuture.completedFuture(places(issuer))
                .thenCompose(places -> keysAt(places, List.of()))
                .thenCompose(this::text)
                .thenAccept(this::take)
                .whenComplete((taken, failure) -> {
                    if (failure != null) {
                        failed = true;
                        complaints.write(more -> log.warn(
                                "the keys of {} cannot be had: {}; {}{}",
                                issuer,
                                reason(failure),
                                keys == null ? "until then nobody gets in" : "tokens are checked by those from before",
                                more));
                    }
                    next.end.complete(null);
                });
        return next.end;
    }

    /** Fetches the keys, and waits for them for a while; that they could not be had is told in the log. */
    public void begin() {
        try {
            refresh().get(2 * ANSWER_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            log.warn("the keys of {} have not come yet; until then nobody gets in", issuer);
        }
    }

    private void take(String text) {
        @Nullable JWKSet before = keys;
        JWKSet now;
        try {
            now = JWKSet.parse(text);
        } catch (ParseException e) {
            throw new IllegalStateException("they are no set of keys: " + e.getMessage(), e);
        }
        if (now.isEmpty()) {
            throw new IllegalStateException("there are none");
        }
        keys = now;
        if (failed || before == null || !before.getKeys().equals(now.getKeys())) {
            failed = false;
            log.info(
                    "the keys of {} are {}",
                    issuer,
                    now.getKeys().stream().map(JWK::getKeyID).toList());
        }
    }

    /** Where the metadata of an issuer may be, in the order that MCP wants. */
    static List<URI> places(URI issuer) {
        String text = issuer.toString().replaceFirst("/$", "");
        String path = URI.create(text).getRawPath();
        String origin = text.substring(0, text.length() - path.length());
        List<URI> places = new ArrayList<>();
        places.add(URI.create(origin + "/.well-known/oauth-authorization-server" + path));
        places.add(URI.create(origin + OPENID + path));
        if (!path.isEmpty()) {
            places.add(URI.create(text + OPENID));
        }
        return places;
    }

    /** Where the keys are, by the first of these places that has the metadata of the issuer. */
    private CompletableFuture<URI> keysAt(List<URI> places, List<String> failures) {
        if (places.isEmpty()) {
            return CompletableFuture.failedFuture(new IllegalStateException(String.join("; ", failures)));
        }
        return text(places.get(0)).thenApply(this::keysOf).exceptionallyCompose(failure -> {
            List<String> all = new ArrayList<>(failures);
            all.add(places.get(0) + ": " + reason(failure));
            return keysAt(places.subList(1, places.size()), all);
        });
    }

    private URI keysOf(String metadata) {
        try {
            Map<String, Object> members = JSONObjectUtils.parse(metadata);
            String named = JSONObjectUtils.getString(members, "issuer");
            if (!issuer.toString().equals(named)) {
                throw new IllegalStateException("it is the metadata of another issuer, " + named);
            }
            return Optional.ofNullable(JSONObjectUtils.getString(members, "jwks_uri"))
                    .filter(IssuerKeys::isSafe)
                    .map(URI::create)
                    .orElseThrow(() -> new IllegalStateException("it names no jwks_uri with https"));
        } catch (ParseException e) {
            throw new IllegalStateException("it is no metadata: " + e.getMessage(), e);
        }
    }

    private CompletableFuture<String> text(URI place) {
        HttpRequest request = HttpRequest.newBuilder(place)
                .header("Accept", "application/json")
                .build();
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        CompletableFuture<HttpResponse<Void>> answer = http.sendAsync(
                request,
                BodyHandlers.ofByteArrayConsumer(part -> part.ifPresent(bytes -> {
                    if (body.size() + bytes.length > MOST_BYTES) {
                        throw new IllegalStateException("it has more than 1 MiB");
                    }
                    body.writeBytes(bytes);
                })));
        // the whole of it, where a timeout of the request would be for its head
        CompletableFuture.delayedExecutor(ANSWER_SECONDS, TimeUnit.SECONDS).execute(() -> answer.cancel(true));
        return answer.thenApply(response -> {
            if (response.statusCode() != 200) {
                throw new IllegalStateException("status " + response.statusCode());
            }
            return body.toString(StandardCharsets.UTF_8);
        });
    }

    private static String reason(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof IllegalStateException ? String.valueOf(cause.getMessage()) : cause.toString();
    }
}
