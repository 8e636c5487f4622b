package dev.holdfast.gateway;

import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.upstream.UpstreamBackend;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.json.JsonFactory;

/**
 * The file of {@code --config}: the object {@code mcpServers} as desktop clients have it, with an object {@code holdfast} for knobs of a
 * server's own. For use by one thread, but for {@link #trouble}.
 */
final class ServersFile {
    private static final Logger log = LoggerFactory.getLogger(ServersFile.class);
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}");
    private static final Pattern VARIABLE = Pattern.compile("\\$\\{([^}]*)}?");
    private static final Pattern VARIABLE_NAME = Pattern.compile("[^=\\x00]+");
    private static final Pattern INSIDE = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", Pattern.DOTALL);

    private static final String COMMAND = "command";
    private static final String ARGS = "args";
    private static final String ENV = "env";
    private static final String CWD = "cwd";
    private static final String URL = "url";
    private static final String HEADERS = "headers";
    private static final String HOLDFAST = "holdfast";
    private static final String DISABLED = "disabled";
    private static final List<String> OF_COMMAND = List.of(COMMAND, ARGS, ENV, CWD);
    private static final List<String> OF_URL = List.of(URL, HEADERS);
    /** What desktop clients write for themselves. */
    private static final Set<String> OF_CLIENTS = Set.of(
            "type",
            "transport",
            "transportType",
            "timeout",
            "initTimeout",
            "autoApprove",
            "alwaysAllow",
            "disabledTools",
            "description",
            "name",
            "note",
            "icon",
            "gallery",
            "version",
            "trust");

    private final OptionFile file;
    private final KnobValues settings;
    /** What was in it, right or wrong; nothing where it is to be read in any case. */
    private Optional<byte[]> seen = Optional.empty();
    /** What was told of it last, unless it could be read since. */
    private volatile String trouble = "";

    /**
     * A value, and where it begins.
     *
     * @param text of what is neither an object nor an array
     */
    private record Value(
            TokenStreamLocation at, JsonToken kind, String text, Map<String, Value> members, List<Value> elements) {}

    /**
     * A file that is not read yet.
     *
     * @param settings what the command line says, for all servers
     */
    ServersFile(Path path, KnobValues settings) {
        this.file = new OptionFile(Knobs.CONFIG.name(), path);
        this.settings = settings;
    }

    /**
     * The servers in it, by their names, but for those that are disabled.
     *
     * @throws GatewayException says with line and column what is wrong
     */
    Map<String, ServeOptions> read() {
        return read(file.content());
    }

    private Map<String, ServeOptions> read(byte[] content) {
        seen = Optional.of(content);
        Value all = parsed(file.text(content));
        Map<String, Value> members = object(all, "the file");
        Value servers = members.get("mcpServers");
        if (servers == null) {
            throw fault(all, "the object has no member mcpServers; put the servers into one");
        }
        Map<String, ServeOptions> options = new LinkedHashMap<>();
        object(servers, "mcpServers").forEach((name, server) -> {
            try {
                server(name, server).ifPresent(found -> options.put(name, found));
            } catch (IllegalArgumentException e) {
                throw fault(server, "server " + name + ": " + e.getMessage());
            }
        });
        return options;
    }

    /** The same if it has changed since it was read; what is wrong with it is told in the log, once. */
    Optional<Map<String, ServeOptions>> changed() {
        try {
            Optional<byte[]> before = seen;
            // what could not be read is looked at in any case once it can be
            seen = Optional.empty();
            byte[] content = file.contentAgain();
            if (before.filter(same -> Arrays.equals(same, content)).isPresent()) {
                seen = before;
            } else {
                Map<String, ServeOptions> servers = read(content);
                trouble = "";
                log.info("{} is read again, and taken", file);
                return Optional.of(servers);
            }
        } catch (GatewayException e) {
            String why = String.valueOf(e.getMessage());
            if (!why.equals(trouble)) {
                trouble = why;
                log.error("{}; nothing has changed", why);
            }
        } catch (RuntimeException e) {
            log.error("{} could not be read; nothing has changed", file, e);
        }
        return Optional.empty();
    }

    /** Why what is in it now is not served; empty if it is. */
    String trouble() {
        return trouble;
    }

    /** The same as {@link #changed} in any case. */
    Optional<Map<String, ServeOptions>> again() {
        seen = Optional.empty();
        trouble = "";
        return changed();
    }

    private Optional<ServeOptions> server(String name, Value server) {
        if (!NAME.matcher(name).matches()) {
            throw fault(
                    server,
                    "the name '" + name + "' is to be a part of a path: 1 to 64 letters, digits and ._~-,"
                            + " without a dot at its beginning");
        }
        Map<String, Value> members = object(server, "server " + name);
        Value disabled = members.get(DISABLED);
        if (disabled != null && disabled.kind == JsonToken.VALUE_TRUE) {
            return Optional.empty();
        }
        if (disabled != null && disabled.kind != JsonToken.VALUE_FALSE) {
            throw fault(disabled, "server " + name + ": " + DISABLED + " must be true or false");
        }
        members.forEach((member, value) -> {
            boolean known =
                    OF_CLIENTS.contains(member) || List.of(HOLDFAST, DISABLED).contains(member);
            if (!known && Stream.of(OF_COMMAND, OF_URL).noneMatch(each -> each.contains(member))) {
                throw fault(
                        value,
                        "server " + name + ": '" + member + "' is no member of a server: it has "
                                + String.join(", ", OF_COMMAND) + "; or " + String.join(", ", OF_URL) + "; and "
                                + HOLDFAST);
            }
        });
        boolean command = members.containsKey(COMMAND);
        if (command == members.containsKey(URL)) {
            throw fault(server, "server " + name + ": it needs " + COMMAND + " or " + URL + ", and one of them only");
        }
        for (String other : command ? OF_URL : OF_COMMAND) {
            if (members.containsKey(other)) {
                throw fault(
                        members.get(other),
                        "server " + name + ": " + other + " does not go with " + (command ? COMMAND : URL));
            }
        }
        Map<Knob<?>, Object> own = knobs(name, command, members);
        ServerChoice choice = command ? command(name, members) : upstream(name, members);
        // what is said of the store of all says nothing of one of its own
        KnobValues inherited = own.containsKey(Knobs.STORE) ? settings.without(Knobs.OF_STORE) : settings;
        ServeOptions options = ServeOptions.of(name, inherited.with(own), choice);
        Set<String> twice = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        if (choice instanceof ServerChoice.Upstream upstream) {
            twice.addAll(options.get(Knobs.FORWARD_HEADER));
            twice.retainAll(upstream.headers().keySet());
        }
        if (!twice.isEmpty()) {
            throw fault(
                    present(members, HEADERS), "server " + name + ": " + twice + " is forwarded too; leave one out");
        }
        return Optional.of(options);
    }

    private static Value present(Map<String, Value> members, String name) {
        return Objects.requireNonNull(members.get(name));
    }

    private ServerChoice command(String name, Map<String, Value> members) {
        List<String> words = new ArrayList<>(List.of(text(name, COMMAND, present(members, COMMAND))));
        Value args = members.get(ARGS);
        if (args != null) {
            words.addAll(texts(name, ARGS, args));
        }
        Optional<Path> folder = Optional.ofNullable(members.get(CWD)).map(cwd -> Path.of(text(name, CWD, cwd)));
        Optional.ofNullable(members.get(ENV))
                .ifPresent(env -> env.members.forEach((variable, value) -> {
                    if (!VARIABLE_NAME.matcher(variable).matches()) {
                        throw fault(
                                value,
                                "server " + name + ": env has a name that no variable can have, with = or U+0000");
                    }
                }));
        return new ServerChoice.Command(new ServerCommand(words, Optional.of(texts(name, members, ENV)), folder));
    }

    private ServerChoice upstream(String name, Map<String, Value> members) {
        Value at = present(members, URL);
        // what it is may be a secret
        URI url = ServerChoice.url(text(name, URL, at))
                .orElseThrow(() -> fault(
                        at,
                        "server " + name
                                + ": url must be as in https://mcp.example/mcp, without a user, a password or a"
                                + " fragment; look whether a variable in it has a line end"));
        Map<String, String> headers = texts(name, members, HEADERS);
        try {
            UpstreamBackend.builder(url).headers(headers);
        } catch (IllegalArgumentException e) {
            throw fault(members.getOrDefault(HEADERS, at), "server " + name + ": " + e.getMessage());
        }
        return new ServerChoice.Upstream(url, headers);
    }

    private Map<Knob<?>, Object> knobs(String name, boolean command, Map<String, Value> members) {
        Map<Knob<?>, Object> own = new LinkedHashMap<>();
        Value holdfast = members.get(HOLDFAST);
        if (holdfast == null) {
            return own;
        }
        object(holdfast, "server " + name + ": " + HOLDFAST).forEach((member, value) -> {
            String option = "--" + member;
            Optional<Knob<?>> knob = Knobs.SERVER.stream()
                    .filter(each -> each.name().equals(option))
                    .findFirst();
            List<Knob<?>> none =
                    command ? List.of(Knobs.FORWARD_HEADER) : List.of(Knobs.MAX_CHILDREN, Knobs.SHOW_CHILD_ERRORS);
            if (knob.isEmpty()) {
                boolean ofGateway =
                        Knobs.SERVE.stream().anyMatch(each -> each.name().equals(option));
                throw fault(
                        value,
                        "server " + name + ": "
                                + (ofGateway
                                        ? member + " is a knob of the gateway: give " + option + " beside --config"
                                        : "there is no knob '" + member
                                                + "'; holdfast help serve lists them, here without --"));
            }
            if (none.contains(knob.get())) {
                throw fault(
                        value, "server " + name + ": " + member + " is for a server with " + (command ? URL : COMMAND));
            }
            try {
                own.put(knob.get(), knob.get().reader().apply(texts(name, member, value)));
            } catch (IllegalArgumentException e) {
                throw fault(
                        value,
                        "server " + name + ": " + String.valueOf(e.getMessage()).replaceFirst("^--", ""));
            }
        });
        return own;
    }

    private Map<String, String> texts(String server, Map<String, Value> members, String name) {
        Map<String, String> texts = new LinkedHashMap<>();
        Value value = members.get(name);
        if (value != null) {
            object(value, "server " + server + ": " + name)
                    .forEach((member, text) -> texts.put(member, text(server, member, text)));
        }
        return texts;
    }

    /** An array of texts, or one text. */
    private List<String> texts(String server, String name, Value value) {
        List<Value> all = value.kind == JsonToken.START_ARRAY ? value.elements : List.of(value);
        return all.stream().map(each -> text(server, name, each)).toList();
    }

    /** A text, a number or a truth value, with the variables of the environment in it. */
    private String text(String server, String name, Value value) {
        if (value.kind.isStructStart() || value.kind == JsonToken.VALUE_NULL) {
            throw fault(value, "server " + server + ": " + name + " must be a text");
        }
        String text = VARIABLE.matcher(value.text).replaceAll(found -> {
            Matcher inside = INSIDE.matcher(found.group(1));
            if (!found.group().endsWith("}") || !inside.matches()) {
                throw fault(
                        value,
                        "server " + server + ": " + name
                                + " has a ${ that begins no variable; write ${NAME} or ${NAME:-default}");
            }
            String set = Optional.ofNullable(System.getenv(inside.group(1)))
                    .filter(given -> inside.group(2) == null || !given.isEmpty())
                    .or(() -> Optional.ofNullable(inside.group(2)))
                    .orElseThrow(() -> fault(
                            value,
                            "server " + server + ": " + name + " has ${" + inside.group(1)
                                    + "}, which is not set; set it for the gateway, or write ${" + inside.group(1)
                                    + ":-default}"));
            return Matcher.quoteReplacement(set);
        });
        if (text.indexOf('\0') >= 0) {
            throw fault(value, "server " + server + ": " + name + " must not have the character U+0000");
        }
        return text;
    }

    private Map<String, Value> object(Value value, String what) {
        if (value.kind != JsonToken.START_OBJECT) {
            throw fault(value, what + " must be an object");
        }
        return value.members;
    }

    private Value parsed(String text) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), text)) {
            json.nextToken();
            if (json.currentToken() == null) {
                throw file.fault("is empty; put the object mcpServers into it");
            }
            Value all = value(json);
            if (json.nextToken() != null) {
                throw fault(json.currentTokenLocation(), "something stands behind the end of the object; remove it");
            }
            return all;
        } catch (JacksonException e) {
            // what stands there may be a secret
            String why = String.valueOf(e.getOriginalMessage())
                    .replaceAll("'[^']{2,}'", "'...'")
                    .replaceAll(" \\(start marker.*", "");
            throw fault(
                    e.getLocation(), "is no JSON: " + why.lines().findFirst().orElse(""));
        }
    }

    private static Value value(JsonParser json) {
        JsonToken kind = json.currentToken();
        TokenStreamLocation at = json.currentTokenLocation();
        Map<String, Value> members = new LinkedHashMap<>();
        List<Value> elements = new ArrayList<>();
        if (kind == JsonToken.START_OBJECT) {
            while (json.nextToken() != JsonToken.END_OBJECT) {
                String name = json.currentName();
                json.nextToken();
                members.put(name, value(json));
            }
        } else if (kind == JsonToken.START_ARRAY) {
            while (json.nextToken() != JsonToken.END_ARRAY) {
                elements.add(value(json));
            }
        }
        return new Value(at, kind, kind.isStructStart() ? "" : json.getString(), members, elements);
    }

    private GatewayException fault(Value value, String what) {
        return fault(value.at, what);
    }

    private GatewayException fault(@Nullable TokenStreamLocation at, String what) {
        return at == null
                ? file.fault(what)
                : new GatewayException(
                        file + ", line " + at.getLineNr() + ", column " + at.getColumnNr() + ": " + what);
    }
}
