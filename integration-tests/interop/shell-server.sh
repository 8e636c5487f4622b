# A stdio server that needs nothing but a shell.
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello"}]}' ;;
    *'"tools/list"'*) result='{"tools":[]}' ;;
    *) result='{}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
