import { Hono } from 'hono';
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda';
import { expect, onTestFinished, test } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { MemoryBlobs } from '../../src/coordinator/index.js';
import { systemEnvironment } from '../../src/coordinator/runtime/environment.js';
import { buildEdgePlan } from '../../src/core/engine/testing.js';
import { executeRun } from '../../src/engine/runs/execute-run.js';
import { instantHost, scriptedServices } from '../../src/engine/testing/engine-harness.js';
import { startServer } from '../../src/server/server.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';
import { PROJECT_KEY, unwrap } from '../support/coordinator-harness.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { featureFile } from '../support/workspace-files.js';

const EDGE = 'design_code';
const ROLE = 'full_stack';
const EDGE_FILE = `
edge: "design→code"
checklist:
  - { name: tests_pass, type: deterministic, criterion: tests pass, required: true, command: make }
`;
const CLAIMS_PATH = `/api/tenants/${PROJECT_KEY.tenant_id}/projects/${PROJECT_KEY.project_id}/claims`;
const [WORKFLOW, FUNCTION, PIPELINE, DEVELOPER] = ['REQ-F-1', 'REQ-F-2', 'REQ-F-3', 'REQ-F-4'] as const;
const FEATURES = [WORKFLOW, FUNCTION, PIPELINE, DEVELOPER];

/** A server of a project in which each feature has one edge to claim. */
async function serveProject() {
  const store = openMemoryStore();
  const blobs = new MemoryBlobs();
  const server = await startServer({ store, blobs, port: 0 });
  onTestFinished(() => server.stop());
  const files = Object.fromEntries(FEATURES.map((id) => [`features/active/${id}.yml`, featureFile(id)]));
  files['graph/edges/design_code.yml'] = EDGE_FILE;
  unwrap(await server.coordinator.settings.configure(PROJECT_KEY, { files }));
  return { server, store, blobs };
}

type SharedProject = Awaited<ReturnType<typeof serveProject>>;

const claimBody = (featureId: string, agent_id: string): string =>
  JSON.stringify({ feature_id: featureId, edge: EDGE, agent_id, session_id: agent_id, agent_role: ROLE });

/** Runs the state machine of the edge, as an execution of a workflow does. */
function runWorkflow({ server, store, blobs }: SharedProject, featureId: string) {
  const harness = {
    coordinator: server.coordinator,
    store,
    blobs,
    key: PROJECT_KEY,
    environment: systemEnvironment,
  };
  const plan = buildEdgePlan({ feature_id: featureId, edge: EDGE });
  const script = { plan, candidate: () => 'right', passes: () => true };
  const request = { ...PROJECT_KEY, feature_id: featureId, edge: EDGE, agent_role: ROLE };
  const services = scriptedServices(harness, script, { agent_id: 'workflow' });
  return executeRun(request, services, instantHost(), new AbortController().signal);
}

/** Claims with an event of API Gateway, as it reaches a Lambda function. */
async function claimInFunction({ server }: SharedProject, featureId: string) {
  const lambda = handle(new Hono().mount('/', (request) => server.app.fetch(request)));
  const event = {
    version: '2.0',
    rawPath: CLAIMS_PATH,
    rawQueryString: '',
    headers: { host: '127.0.0.1', 'content-type': 'application/json' },
    requestContext: { domainName: '127.0.0.1', http: { method: 'POST', path: CLAIMS_PATH } },
    body: claimBody(featureId, 'function'),
    isBase64Encoded: false,
  } as unknown as LambdaEvent;
  return JSON.parse((await lambda(event, {} as LambdaContext)).body);
}

/** Claims with plain HTTP, as a step of a pipeline does. */
async function claimInPipeline({ server }: SharedProject, featureId: string) {
  const headers = { 'content-type': 'application/json' };
  const body = claimBody(featureId, 'pipeline');
  return (await fetch(server.url + CLAIMS_PATH, { method: 'POST', headers, body })).json();
}

/** Claims with the command line, as a developer does. */
async function claimInTerminal({ server }: SharedProject, featureId: string) {
  const env = {
    GENESIS_URL: server.url,
    GENESIS_TENANT: PROJECT_KEY.tenant_id,
    GENESIS_PROJECT: PROJECT_KEY.project_id,
  };
  const terminal = { cwd: await temporaryFolder(), env };
  const target = ['task', 'claim', `${featureId}#${EDGE}`, '--agent', 'developer', '--role', ROLE];
  return JSON.parse((await runGen(terminal, ...target, '--json')).out);
}

// req: EDG-015
test('a workflow, a function, a pipeline and a developer claim edges of one project', async () => {
  const project = await serveProject();
  const replies = [
    await claimInFunction(project, FUNCTION),
    await claimInPipeline(project, PIPELINE),
    await claimInTerminal(project, DEVELOPER),
  ];
  expect(replies.map(({ reason }) => reason)).toEqual(['GRANTED', 'GRANTED', 'GRANTED']);
  expect(await runWorkflow(project, WORKFLOW)).toMatchObject({ run: { status: 'CONVERGED' } });
  expect(await runWorkflow(project, PIPELINE)).toMatchObject({ status: 'REFUSED' });
  const refusals = [
    await claimInTerminal(project, FUNCTION),
    await claimInFunction(project, PIPELINE),
    await claimInPipeline(project, DEVELOPER),
  ];
  expect(refusals.map(({ current_holder }) => current_holder)).toEqual(['function', 'pipeline', 'developer']);
  const events = await project.store.events(PROJECT_KEY, { after: 0, limit: 1000 });
  const started = events.filter(({ event_type }) => event_type === 'edge_started');
  expect(started.map(({ agent_id }) => agent_id)).toEqual(['function', 'pipeline', 'developer', 'workflow']);
});
