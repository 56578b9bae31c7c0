// The TypeScript SDK 1.x.
import { load, target, walk } from './steps.mjs'

const { Client } = load('@modelcontextprotocol/sdk/client/index.js')
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js')
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js')

const { url, process: server } = target()
const client = new Client({ name: 'journey', version: '1' })
await client.connect(url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(server))
await walk(client)
await client.close()
