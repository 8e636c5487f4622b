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
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
 * key is not there has them fetched anew, which is begun every five seconds at most, and is to come back. That there is no such key is said
 * once they were fetched after somebody had asked for it, for it may be new. While the server is away the keys that it had stay.
 *
 * @see <a href="https://www.rfc-editor.org/rfc/rfc8414#section-3">RFC 8414, obtaining authorization server metadata</a>
 */
public final class IssuerKeys implements JWKSource<SecurityContext> {
    private static final Logger log = LoggerFactory.getLogger(IssuerKeys.class);
    /** How long after an attempt the next one may begin: whoever sends tokens with unknown keys must not ask the server by that. */
    static final Duration PAUSE = Duration.ofSeconds(5);

    /** So many names of keys that are not there are kept; whoever asks for more of them is never told that there are none. */
    private static final int MOST_SOUGHT = 1_000;

    private static final int LONGEST_NAME = 255;

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
    /** Names of keys that were asked for in vain since it began. */
    private Set<String> sought = new HashSet<>();

    private volatile @Nullable JWKSet keys;
    private volatile boolean failed;

    /**
     * An attempt to fetch the keys.
     *
     * @param sought names of keys that were asked for before it began: where it brings none of that name, there is none
     * @param end whether it has brought keys
     */
    private record Attempt(long begun, Set<String> sought, CompletableFuture<Boolean> end) {}

    /**
     * The keys of a server, none of which is fetched yet.
     *
     * @param clock nanoseconds
     */
    public IssuerKeys(URI issuer, LongSupplier clock) {
        this.issuer = issuer;
        this.clock = clock;
        this.complaints = new LogThrottle(1, clock);
        this.attempt =
                new Attempt(clock.getAsLong() - PAUSE.toNanos(), Set.of(), CompletableFuture.completedFuture(false));
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
        Attempt last = attempt;
        boolean had = last.end.getNow(false);
        // looked at after that: these are the keys that it has brought, or newer ones
        @Nullable JWKSet now = keys;
        List<JWK> found = now == null ? List.of() : selector.select(now);
        if (found.isEmpty()) {
            String key = name(selector);
            attempt(Set.of(key));
            if (!had || !last.sought.contains(key)) {
                throw new KeySourceException("whether " + issuer + " has such a key is not known yet");
            }
        }
        return found;
    }

    /** The key that is looked for, by the beginning of its name: whoever asks may have made up a long one. */
    private static String name(JWKSelector selector) {
        String name = String.valueOf(selector.getMatcher().getKeyIDs());
        return name.substring(0, Math.min(name.length(), LONGEST_NAME));
    }

    /** Fetches the keys again, unless that was begun just now; completes when that is over, with whether they could be had. */
    public CompletableFuture<Boolean> refresh() {
        return attempt(Set.of()).end;
    }

    /** The attempt under way, or in whose pause this is; else one that is begun now. These keys are for the next one to look for. */
    private Attempt attempt(Set<String> wanted) {
        Attempt next;
        synchronized (this) {
            if (sought.size() < MOST_SOUGHT) {
                sought.addAll(wanted);
            }
            long now = clock.getAsLong();
            if (!attempt.end.isDone() || now - attempt.begun < PAUSE.toNanos()) {
                return attempt;
            }
            next = new Attempt(now, sought, new CompletableFuture<>());
            sought = new HashSet<>();
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
                    next.end.complete(failure == null);
                });
        return next;
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
