import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import openapiTS, { astToString } from 'openapi-typescript';
import { expect, onTestFinished, test } from 'vitest';
import { TestServer } from './testing/test-server.js';

const run = promisify(execFile);

/** A client written from the API description alone. */
const CLIENT = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';
const client = createClient<paths>({ baseUrl: process.argv[2] as string });
const path = { tenant_id: 'acme', project_id: 'shop' };
const P = '/api/tenants/{tenant_id}/projects/{project_id}' as const;
const tracks = { A: [{ id: 'A-001-x', description: 'first' }] };
const put = await client.PUT(\`\${P}/plan\`, { params: { path }, body: { tracks } });
const next = await client.POST(\`\${P}/next\`, { params: { path }, body: { agent_id: 'alpha', session_id: 's1' } });
const claim = next.data?.claim;
if (!claim) throw new Error('nothing was granted');
const { task_id, session_id, generation, id: claim_id } = claim;
const again = await client.POST(\`\${P}/claims\`, {
  params: { path },
  body: { task_id, agent_id: 'beta', session_id: 's2' },
});
const submitted = await client.POST(\`\${P}/results\`, {
  params: { path },
  body: { task_id, session_id, generation, claim_id: claim_id as string, result_data: { done: true } },
});
const tasks = await client.GET(\`\${P}/tasks\`, { params: { path, query: { phase: 'COMPLETED', limit: 10 } } });
console.log(
  JSON.stringify([
    put.data?.version,
    next.data?.briefing?.handle.task_id,
    again.response.status,
    submitted.data?.reason,
    tasks.data?.tasks.map((task) => task.readiness),
  ]),
);
`;

test('a client generated from the OpenAPI description compiles and completes a plan', async () => {
  const testServer = await TestServer.forTest();
  const description = (await testServer.get('/openapi.json')).body;
  const folder = await mkdtemp(join(tmpdir(), 'client-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const read = { lib: ['ES2022'], types: ['node'], skipLibCheck: true };
  const options = { strict: true, module: 'NodeNext', noEmit: true, ...read };
  await Promise.all([
    writeFile(join(folder, 'schema.ts'), astToString(await openapiTS(description))),
    writeFile(join(folder, 'client.ts'), CLIENT),
    writeFile(join(folder, 'package.json'), '{"type": "module"}'),
    writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] })),
    symlink(resolve('node_modules'), join(folder, 'node_modules')),
  ]);
  await run(resolve('node_modules/.bin/tsc'), ['-p', folder]).catch(({ stdout }) => expect.fail(stdout));
  const script = join(folder, 'client.js');
  await writeFile(script, (await transform(CLIENT, { loader: 'ts' })).code);
  const { stdout } = await run(process.execPath, [script, testServer.url]);
  expect(JSON.parse(stdout)).toEqual([1, 'A-001-x', 409, 'ACCEPTED', ['completed']]);
});
