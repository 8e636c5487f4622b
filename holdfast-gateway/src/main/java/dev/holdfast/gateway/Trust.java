package dev.holdfast.gateway;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Whom the gateway serves.
 *
 * @param tokenFile who may ask and by which token; without it whoever gets here may
 * @param insecure whether others than this machine may get here without a token
 * @param showChildErrors whether others than this machine are told what a server that does not start says on its error output
 * @param hosts names of this server
 * @param origins pages in browsers that may ask
 */
record Trust(
        Optional<Path> tokenFile, boolean insecure, boolean showChildErrors, List<String> hosts, List<String> origins) {
    /** Serves this machine only, without tokens. */
    static final Trust LOCAL = new Trust(Optional.empty(), false, false, List.of(), List.of());

    Trust {
        hosts = List.copyOf(hosts);
        origins = List.copyOf(origins);
    }
}
