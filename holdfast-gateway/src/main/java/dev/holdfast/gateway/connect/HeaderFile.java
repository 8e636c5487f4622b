package dev.holdfast.gateway.connect;

import dev.holdfast.LogThrottle;
import dev.holdfast.client.Requests;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The headers that each request to the server carries: those of the command line, and those of a file. The file is read again when
 * the server wants other credentials, so that a token may be renewed there. Thread-safe.
 */
public final class HeaderFile {
    private static final Logger log = LoggerFactory.getLogger(HeaderFile.class);

    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);
    private final List<Header> fixed;
    private final Optional<OptionFile> file;
    private volatile List<Header> read;

    /** One header. */
    private record Header(String name, String value) {
        /**
         * Reads {@code Name: value}.
         *
         * @throws IllegalArgumentException if it is none, or none that may be set; says nothing of the value
         */
        private static Header parse(String line) {
            int colon = line.indexOf(':');
            if (colon < 1) {
                throw new IllegalArgumentException("a header is written as 'Name: value'");
            }
            Header header = new Header(
                    line.substring(0, colon).strip(), line.substring(colon + 1).strip());
            if (!header.value.chars().allMatch(c -> (c >= ' ' && c <= '~') || c == '\t')) {
                throw new IllegalArgumentException(
                        "the header '" + header.name + "' has characters that a header cannot have");
            }
            try {
                HttpRequest.newBuilder().header(header.name, header.value);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("the header '" + header.name + "' cannot be set", e);
            }
            return header;
        }
    }

    private HeaderFile(List<Header> fixed, Optional<OptionFile> file, List<Header> read) {
        this.fixed = fixed;
        this.file = file;
        this.read = read;
    }

    /**
     * Reads the headers.
     *
     * @param lines each as {@code Name: value}
     * @param file such lines too; those that are empty or begin with {@code #} do not count
     * @throws IllegalArgumentException if a line is no header
     * @throws GatewayException if the file cannot be read, or names the line of it that is no header
     */
    public static HeaderFile of(List<String> lines, Optional<OptionFile> file) {
        List<Header> fixed = lines.stream().map(Header::parse).toList();
        return new HeaderFile(
                fixed, file, file.map(named -> read(named, named.content())).orElse(List.of()));
    }

    private static List<Header> read(OptionFile file, byte[] content) {
        List<Header> headers = new ArrayList<>();
        OptionFile.forEachLine(file.toString(), file.text(content), (line, number) -> headers.add(Header.parse(line)));
        return List.copyOf(headers);
    }

    /** Whether there is any. */
    public boolean isEmpty() {
        return fixed.isEmpty() && read.isEmpty();
    }

    /** Requests with these headers. */
    public Requests requests() {
        return new Requests(HttpRequest.newBuilder(), customizer(), authorization(), Optional.empty());
    }

    private Requests.Customizer customizer() {
        return (request, method, uri, body, context) -> {
            add(request, fixed);
            add(request, read);
            return CompletableFuture.completedFuture(request);
        };
    }

    /** Adds headers in the place of those of the same names; a name that occurs twice among them goes twice. */
    private static void add(HttpRequest.Builder request, List<Header> headers) {
        Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        for (Header header : headers) {
            if (names.add(header.name)) {
                request.setHeader(header.name, header.value);
            } else {
                request.header(header.name, header.value);
            }
        }
    }

    /** Reads the file again when the server wants credentials, and tries once more with headers that the refused request did not have. */
    private Requests.AuthorizationHandler authorization() {
        return (request, status, headers, times, context) ->
                CompletableFuture.completedFuture(times == 0 && renewed(request));
    }

    private boolean renewed(HttpRequest refused) {
        if (file.isEmpty()) {
            return false;
        }
        try {
            List<Header> before = read;
            List<Header> now = read(file.get(), file.get().contentAgain());
            read = now;
            return !now.equals(before)
                    || now.stream()
                            .anyMatch(header ->
                                    !refused.headers().allValues(header.name).contains(header.value));
        } catch (GatewayException e) {
            complaints.write(more -> log.warn("{}; the headers stay as they were{}", e.getMessage(), more));
            return false;
        }
    }
}
