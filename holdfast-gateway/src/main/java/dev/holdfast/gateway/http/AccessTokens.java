package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.KeySourceException;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import dev.holdfast.LogThrottle;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.Challenge;
import jakarta.servlet.http.HttpServletRequest;
import java.text.ParseException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows callers by the access tokens of an OAuth authorization server, JWTs made for one resource. The principal is issuer and subject. A
 * token is looked at with each request, and until it expires: nobody here learns that it was revoked.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#access-token-usage">MCP authorization, access
 *     tokens</a>
 */
public final class AccessTokens implements Authenticator {
    private static final Logger log = LoggerFactory.getLogger(AccessTokens.class);
    /** What the JDK verifies, and nothing with a key that both sides have. */
    private static final Set<JWSAlgorithm> ALGORITHMS = Stream.concat(
                    JWSAlgorithm.Family.RSA.stream(),
                    Stream.of(JWSAlgorithm.ES256, JWSAlgorithm.ES384, JWSAlgorithm.ES512))
            .collect(Collectors.toUnmodifiableSet());

    /** How far the clocks of the two servers may be apart. */
    static final Duration SKEW = Duration.ofSeconds(30);

    private static final int LONGEST_SUBJECT = 255;

    private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);
    private final Set<String> scopes;
    private final Challenge challenge;

    /** Tokens for a resource, signed by one of these keys. */
    public AccessTokens(ProtectedResource resource, IssuerKeys keys) {
        this.scopes = Set.copyOf(resource.scopes());
        this.challenge = resource.challenge();
        // a JWT without a type is one by its form; RFC 9068 names access tokens, for which most servers have no type
        // yet
        processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(
                new JOSEObjectType("at+jwt"), new JOSEObjectType("application/at+jwt"), JOSEObjectType.JWT, null));
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(ALGORITHMS, keys));
        DefaultJWTClaimsVerifier<SecurityContext> claims = new DefaultJWTClaimsVerifier<>(
                resource.audiences(),
                new JWTClaimsSet.Builder().issuer(resource.issuer().toString()).build(),
                Set.of("sub", "exp"),
                Set.of());
        claims.setMaxClockSkew((int) SKEW.toSeconds());
        processor.setJWTClaimsSetVerifier(claims);
    }

    @Override
    public Answer authenticate(HttpServletRequest request) {
        List<String> credentials = Collections.list(request.getHeaders("Authorization"));
        if (credentials.isEmpty()) {
            return new Stranger(challenge);
        }
        return TokenFile.bearer(credentials).map(this::answer).orElseGet(() -> new WrongToken(challenge));
    }

    private Answer answer(String token) {
        try {
            JWTClaimsSet claims = processor.process(token, null);
            String subject = claims.getSubject();
            if (subject.isEmpty() || subject.length() > LONGEST_SUBJECT) {
                throw new BadJOSEException("the subject has " + subject.length() + " characters");
            }
            if (!granted(claims).containsAll(scopes)) {
                return new InsufficientScope(challenge);
            }
            Duration left =
                    Duration.between(Instant.now(), claims.getExpirationTime().toInstant());
            // an issuer has no blanks
            return new Known(claims.getIssuer() + ' ' + subject, Optional.of(left.plus(SKEW)));
        } catch (KeySourceException e) {
            return new Undecided();
        } catch (ParseException | JOSEException | BadJOSEException | RuntimeException e) {
            // it may repeat what the token says, which anybody may have written
            complaints.write(more -> log.debug(
                    "a token is refused: {}{}",
                    LogText.of(String.valueOf(e.getMessage()).getBytes(UTF_8)),
                    more));
            return new WrongToken(challenge);
        }
    }

    /** The scopes of a token: a text with blanks, as RFC 9068 has it, or a list; some servers call them {@code scp}. */
    private static Set<String> granted(JWTClaimsSet claims) {
        Object granted = Optional.ofNullable(claims.getClaim("scope")).orElseGet(() -> claims.getClaim("scp"));
        if (granted instanceof String text) {
            return Stream.of(text.split(" ", -1)).collect(Collectors.toSet());
        }
        return granted instanceof Collection<?> list
                ? list.stream().map(String::valueOf).collect(Collectors.toSet())
                : Set.of();
    }
}
