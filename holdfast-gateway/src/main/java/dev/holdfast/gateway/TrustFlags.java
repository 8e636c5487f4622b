package dev.holdfast.gateway;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import picocli.CommandLine.Option;

/** The options of {@code holdfast serve} that say whom it serves. */
final class TrustFlags {
    private static final Pattern HOST =
            Pattern.compile("\\*|(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9_-][A-Za-z0-9._-]*)(:(\\d{1,5}|\\*))?");
    private static final Pattern ORIGIN = Pattern.compile(
            "\\*|null|[A-Za-z][A-Za-z0-9+.-]*://(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(:(\\d{1,5}|\\*))?");

    @Option(
            names = "--auth-token-file",
            paramLabel = "FILE",
            description = "serve only who sends a token of this file, whose lines are a principal and a token each;"
                    + " it is read again when it changes")
    private Optional<Path> tokenFile = Optional.empty();

    @Option(names = "--insecure", description = "listen on an address that others can reach without --auth-token-file")
    private boolean insecure;

    @Option(
            names = "--show-child-errors",
            description =
                    "tell clients what COMMAND says on its error output when it does not start, also where others than"
                            + " this machine can reach it; the log has it in any case")
    private boolean showChildErrors;

    @Option(
            names = "--allowed-host",
            paramLabel = "NAME",
            split = ",",
            description = "further names by which clients may call this server, such as that of a reverse proxy,"
                    + " as NAME or NAME:PORT; * for any")
    private List<String> hosts = new ArrayList<>();

    @Option(
            names = "--allowed-origin",
            paramLabel = "ORIGIN",
            split = ",",
            description = "pages that browsers may call this server from, as https://NAME, http://NAME:PORT or"
                    + " http://NAME:*; * for any")
    private List<String> origins = new ArrayList<>();

    /**
     * What they say, checked.
     *
     * @throws IllegalArgumentException names the first that has not its form
     */
    Trust trust() {
        hosts.forEach(host -> require(HOST, "--allowed-host", "mcp.example, mcp.example:8443", host));
        origins.forEach(
                origin -> require(ORIGIN, "--allowed-origin", "https://app.example, http://dev.example:3000", origin));
        return new Trust(tokenFile, insecure, showChildErrors, hosts, origins);
    }

    private static void require(Pattern form, String flag, String examples, String value) {
        if (!form.matcher(value).matches()) {
            throw new IllegalArgumentException(flag + " must be as in " + examples + " or *, not " + value);
        }
    }
}
