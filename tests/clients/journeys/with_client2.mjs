// The TypeScript client 2.x, which speaks both eras.
import { era, load, target, walk } from './steps.mjs'

const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client')
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio')

const { url, process: server } = target()
const client = new Client({ name: 'journey', version: '1' }, { versionNegotiation: { mode: era } })
await client.connect(url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(server))
await walk(client)
await client.close()
