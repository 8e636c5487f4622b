// Calls `forecast` again and again in one session, three at a time, and prints what it notices, until SIGTERM.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const CITIES = ['Bern', 'Thun', 'Chur'];
const REST_MS = 500;
const ENDS = { [-32603]: 'ended by an error', 502: 'cut at the balancer', 504: 'cut at the balancer' };

// A POST that is on its way to a node when that is killed has no answer but that of the balancer.
const counts = { answered: 0, 'ended by an error': 0, 'cut at the balancer': 0, 'not taken': 0 };
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new Client({ name: 'cluster-client', version: '1.0.0' });
let goesOn = true;

async function callsOf(city) {
  while (goesOn) {
    const steps = [];
    const onprogress = ({ progress }) => steps.push(progress);
    try {
      const { content } = await client.callTool({ name: 'forecast', arguments: { city } }, undefined, { onprogress, timeout: 30_000 });
      counts.answered++;
      console.log(`  ${city}: steps ${steps.join(' ')}, ${content[0].text}`);
    } catch (error) {
      counts[ENDS[error.code] ?? 'not taken']++;
      console.log(`  ${city}: steps ${steps.join(' ')}, ${error.message}`);
    }
    await new Promise(resolve => setTimeout(resolve, REST_MS));
  }
}

process.on('SIGTERM', () => (goesOn = false));
await client.connect(transport);
const session = transport.sessionId;
await Promise.all(CITIES.map(callsOf));
console.log(`# ${Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(', ')}; still session ${session}`);
await transport.terminateSession();
await client.close();
