package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.process.ServerCommand;
import java.util.List;

/**
 * A small MCP server in shell. It answers each request with its process number, {@code slow} only after 600 ms and {@code patient} after 10 s, and {@code
 * flood7} before 7 log messages of 50 kB; {@code die} ends it without an answer.
 */
public final class ShellServer {
    private static final String SCRIPT = """
            result() {
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","server":"%s"}}\\n' "$id" $$
            }
            while read -r line; do
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method":"die"'*) kill -9 $$ ;;
                *'"method":"slow"'*) sleep 0.6; result ;;
                *'"method":"patient"'*) sleep 10; result ;;
                *'"method":"flood'*)
                  result
                  count=${line#*flood}
                  count=${count%%'"'*}
                  big=$(head -c 50000 /dev/zero | tr '\\0' x)
                  i=0
                  while [ $i -lt $count ]; do
                    printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}\\n' "$big"
                    i=$((i+1))
                  done ;;
                *'"method"'*) result ;;
              esac
            done
            """;

    public static final ServerCommand COMMAND = new ServerCommand(List.of("/bin/sh", "-c", SCRIPT));

    private ShellServer() {}
}
