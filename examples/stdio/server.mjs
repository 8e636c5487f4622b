import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

const STEPS = 5;
let runs = 0;

const server = new McpServer({ name: 'weather-server', version: '1.0.0' });

server.registerTool(
  'forecast',
  { description: 'Computes the weather of tomorrow, which takes its time', inputSchema: { city: z.string() } },
  async ({ city }, { _meta, sendNotification }) => {
    const run = ++runs;
    for (let progress = 1; progress <= STEPS; progress++) {
      await delay(300);
      if (_meta?.progressToken !== undefined) {
        const params = { progressToken: _meta.progressToken, progress, total: STEPS };
        await sendNotification({ method: 'notifications/progress', params });
      }
    }
    return { content: [{ type: 'text', text: `run=${run}: sunny in ${city}` }] };
  },
);

await server.connect(new StdioServerTransport());
