package dev.holdfast.gateway;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Whom the gateway serves.
 *
 * @param tokenFile who may ask and by which token; without it whoever gets here may
 * @param insecure whether others than this machine may get here without a token
 * @param hosts names of this server
 * @param origins pages in browsers that may ask
 */
record Trust(Optional<Path> tokenFile, boolean insecure, List<String> hosts, List<String> origins) {
    /** Nobody but this machine. */
    static final Trust LOCAL = new Trust(Optional.empty(), false, List.of(), List.of());

    Trust {
        hosts = List.copyOf(hosts);
        origins = List.copyOf(origins);
    }
}
