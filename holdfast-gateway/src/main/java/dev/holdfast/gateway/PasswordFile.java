package dev.holdfast.gateway;

import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import java.util.function.BiConsumer;

/**
 * A password for Redis in a file: what stands in a command line, everybody on the machine can read.
 *
 * @param file its first line is the password
 * @param user whose it is
 */
public record PasswordFile(OptionFile file, String user) {
    /**
     * Gives user and password to a store that is not open yet.
     *
     * @throws GatewayException if the file cannot be read, or has none
     */
    void give(BiConsumer<String, char[]> store) {
        String password = file.text(file.content()).lines().findFirst().orElse("");
        if (password.isBlank()) {
            throw file.fault("the first line must be the password, and is empty");
        }
        OpenToOthers.complain(file.path());
        store.accept(user, password.toCharArray());
    }
}
