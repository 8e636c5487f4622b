package dev.holdfast.gateway;

import dev.holdfast.gateway.http.GatewayException;
import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.http.SecretFile;
import java.nio.file.Path;
import java.util.function.BiConsumer;

/**
 * A password for Redis in a file: what stands in a command line, everybody on the machine can read.
 *
 * @param file its first line is the password
 * @param user whose it is
 */
public record PasswordFile(Path file, String user) {
    /**
     * Gives user and password to a store that is not open yet.
     *
     * @throws GatewayException if the file cannot be read, or has none
     */
    void give(BiConsumer<String, char[]> store) {
        String password = SecretFile.text(file).lines().findFirst().orElse("");
        if (password.isBlank()) {
            throw new GatewayException(file + ": the first line must be the password, and is empty");
        }
        OpenToOthers.complain(file);
        store.accept(user, password.toCharArray());
    }
}
