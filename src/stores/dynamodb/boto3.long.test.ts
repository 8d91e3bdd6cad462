import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import { type AnyHead, fold } from '../../core/fold.js';
import type { ProjectKey, Store } from '../store.js';
import { onProgram } from '../testing/on-database.js';
import { findInstalledProgram } from '../testing/program.js';
import { type DynamodbHarness, describeOnDynamodb } from './testing/harness.js';

const PROGRAM = fileURLToPath(new URL('../../../examples/dynamodb-boto3/claim.py', import.meta.url));
/** Debian installs boto3 for its own Python, which may not be the first one in the PATH. */
const PYTHON = [findInstalledProgram('python3'), '/usr/bin/python3'].find(
  (python) => python !== null && spawnSync(python, ['-c', 'import boto3']).status === 0,
);
const BOTO3_MISSING = PYTHON == null ? 'boto3 is not installed for python3 (npm run engines:install)' : null;

const EDGE = { feature_id: 'REQ-F-AUTH-001', edge: 'design_code' };
const SUBJECT = `${EDGE.feature_id}#${EDGE.edge}`;

await onProgram('boto3', BOTO3_MISSING, () =>
  describeOnDynamodb('a Python program with boto3 and a coordinator', describeBoto3),
);

function describeBoto3({ options, store: open }: DynamodbHarness): void {
  /** Runs the example and returns the line it prints. */
  const runPython = (projectKey: ProjectKey, ...args: string[]): Promise<Record<string, unknown>> => {
    const [verb, ...rest] = args as [string, ...string[]];
    const env = {
      ...process.env,
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      GENESIS_STORE: `dynamodb://${options.region}/${options.namespace}?endpoint=${options.endpoint}`,
      GENESIS_TENANT: projectKey.tenant_id,
      GENESIS_PROJECT: projectKey.project_id,
    };
    const command = [PROGRAM, verb, EDGE.feature_id, EDGE.edge, ...rest];
    return new Promise((resolve, reject) => {
      execFile(PYTHON as string, command, { env }, (_, stdout, stderr) =>
        stdout === '' ? reject(new Error(stderr)) : resolve(JSON.parse(stdout)),
      );
    });
  };

  // req: EDG-016
  it('see each other’s claims, and write a log that folds to the heads', async () => {
    const projectKey = { tenant_id: `t-${randomUUID()}`, project_id: 'shop' };
    const store = await open();
    const coordinator = await Coordinator.open({ store });
    const claimEdge = async (agent_id: string): Promise<ClaimResult> => {
      const reply = await coordinator.claims.claimTask(projectKey, {
        ...EDGE,
        agent_id,
        session_id: `s-${agent_id}`,
      });
      if (isProblem(reply)) throw new Error(reply.detail);
      return reply;
    };
    try {
      expect(await runPython(projectKey, 'claim', '--agent', 'pipeline')).toMatchObject({
        reason: 'GRANTED',
        generation: 1,
      });
      expect(await claimEdge('alpha')).toMatchObject({
        reason: 'DENIED_ACTIVE_CLAIM',
        current_holder: 'pipeline',
      });
      expect(await runPython(projectKey, 'release', '--agent', 'zombie', '--generation', '1')).toMatchObject({
        success: false,
      });
      expect(
        await runPython(projectKey, 'release', '--agent', 'pipeline', '--generation', '1'),
      ).toMatchObject({
        reason: 'RELEASED',
      });
      expect(await claimEdge('alpha')).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
      expect(await runPython(projectKey, 'claim', '--agent', 'pipeline')).toMatchObject({
        reason: 'DENIED_ACTIVE_CLAIM',
        current_holder: 'alpha',
        generation: 2,
      });
      expect(await store.countPermits(projectKey.tenant_id, 'claims')).toBe(1);
      await expectHeadsToEqualFold(store, projectKey);
    } finally {
      coordinator.close();
    }
  });

  it('leave one holder of an edge after concurrent claims', async () => {
    const projectKey = { tenant_id: `t-${randomUUID()}`, project_id: 'shop' };
    const replies = await Promise.all(
      ['a', 'b', 'c'].map((agent) => runPython(projectKey, 'claim', '--agent', agent)),
    );
    const successes = replies.filter(({ success }) => success === true);
    expect(successes).toHaveLength(1);
    const store = await open();
    const [head] = (await store.heads(projectKey, [SUBJECT])) as unknown as [{ claim: { agent_id: string } }];
    for (const reply of replies) {
      if (reply.success === false) expect(reply.current_holder).toBe(head.claim.agent_id);
    }
    await expectHeadsToEqualFold(store, projectKey);
  });
}

async function expectHeadsToEqualFold(store: Store, projectKey: ProjectKey): Promise<void> {
  const folded = new Map<string, AnyHead>();
  for (const event of await store.events(projectKey, { after: 0, limit: 1000 })) {
    if (event.seq === undefined || event.subject === undefined) continue;
    folded.set(event.subject, fold(folded.get(event.subject) ?? null, event));
  }
  for (const head of await store.scanHeads(projectKey, { after: null, limit: 1000 })) {
    expect(head).toEqual(folded.get(head.subject));
  }
}
