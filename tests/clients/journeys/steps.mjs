// The steps of steps.py for clients in JavaScript: `with_….mjs MODULES ERA http URL` or `… stdio COMMAND ENVIRONMENT`.
import assert from 'node:assert'
import { createRequire } from 'node:module'

const [modules, era, transport, where, environment] = process.argv.slice(2)

// The packages lie in a cache, and not where Node would look for them from here.
export const load = createRequire(`${modules}/.`)
export { era }

export function target () {
  return transport === 'http'
    ? { url: new URL(where) }
    : { process: { command: where, args: ['-m', 'skillhub_mcp'], env: JSON.parse(environment), stderr: 'ignore' } }
}

export async function walk (client) {
  async function told (name, given) {
    const result = await client.callTool({ name, arguments: given })
    assert(!result.isError, result.content[0].text)
    return JSON.parse(result.content[0].text)
  }

  const tools = (await client.listTools()).tools.map(tool => tool.name)
  const found = (await told('search_skills', { query: 'read a PDF' })).skills[0].name
  const loaded = await told('load_skill', { skill_name: found })
  const file = await told('read_skill_file', { skill_name: found, file_path: 'references/a.md' })
  const failed = await client.callTool({ name: 'load_skill', arguments: { skill_name: 'nope' } })
  const resources = (await client.listResources()).resources.map(resource => resource.uri)
  const uris = resources.filter(uri => uri.endsWith(`/${found}/SKILL.md`))
  const read = await Promise.all(uris.map(uri => client.readResource({ uri })))
  console.log(JSON.stringify({
    protocol: client.getNegotiatedProtocolVersion?.() ?? null, // the SDK 1.x keeps it to itself
    instructed: client.getInstructions().includes('search_skills'),
    tools,
    found,
    body: loaded.instructions,
    file: file.content,
    failed: [failed.isError, failed.content[0].text.split('.')[0]],
    resource: read.map(result => result.contents[0].text)
  }))
}
