import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { HarnessAgent } from '../../../../test/support/agent.js';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../../test/support/coordinator-harness.js';
import { Genesis, publicKeyText, signCommand } from '../../../client/index.js';
import { sha256 } from '../../../coordinator/audit/audit-hash.js';
import { verifySignatureSync } from '../../../coordinator/audit/verify-signature.js';
import { checkTaskProofText, type TaskProof } from '../../../core/audit/task-proof/task-proof.js';
import { newSigner, type TestSigner } from '../../../core/audit/testing/primitives.js';
import type { SignedCommand } from '../../../core/signing.js';
import { OPEN_PRINCIPAL } from '../../../server/auth/principal.js';
import { createInProcessApp } from '../../../server/in-process.js';
import { collectTaskProof } from '../collect-task-proof.js';
import type { SentBody } from '../signed-bodies.js';

export const [A, B, C] = ['A-001-schema', 'A-002-index', 'B-001-api'] as const;
export const KEY: TestSigner = newSigner('task-proof');

/** Our verdict on a proof, as a code. */
export function verdictOf(proof: TaskProof | string, trustedKeys?: readonly string[]): string {
  const text = typeof proof === 'string' ? proof : JSON.stringify(proof);
  const trust = trustedKeys === undefined ? {} : { trustedKeys };
  const verdict = checkTaskProofText(text, { hash: sha256, verify: verifySignatureSync, ...trust });
  return verdict.ok ? 'ok' : verdict.code;
}

/** A session that signs its commands and keeps their bodies. */
export interface SigningSession {
  readonly sent: SentBody[];
  sign(command: SignedCommand, body: object): Record<string, unknown>;
}

/** A real coordinator with an audit key and a clock that only the test moves, and a client of its HTTP app. */
export class TaskProofHarness {
  private constructor(
    readonly harness: CoordinatorHarness,
    readonly client: Genesis,
  ) {}

  static async open(): Promise<TaskProofHarness> {
    const signer = { ...KEY, sign: async (text: string) => KEY.sign(text) };
    const harness = await CoordinatorHarness.open('file', { audit: { signer } });
    await harness.plan(planOf(A, { id: B, depends_on: [A] }, C));
    const { app, close } = createInProcessApp(harness.coordinator, harness.store, OPEN_PRINCIPAL);
    onTestFinished(close);
    const target = {
      url: 'http://in-process',
      tenant: PROJECT_KEY.tenant_id,
      project: PROJECT_KEY.project_id,
    };
    return new TaskProofHarness(harness, new Genesis({ ...target, fetch: app.fetch }));
  }

  get coordinator() {
    return this.harness.coordinator;
  }

  agent(agentId: string, sessionId: string): HarnessAgent {
    return new HarnessAgent(this.harness, agentId, sessionId);
  }

  async complete(taskId: string, agentId = 'alpha', sessionId = 's1'): Promise<void> {
    const agent = this.agent(agentId, sessionId);
    await agent.claim(taskId);
    await agent.submit(taskId, { made: taskId, by: agentId });
  }

  /** Generation 1 expires, generation 2 submits its result, and then the first holder submits too. */
  async takeOver(taskId: string): Promise<void> {
    const [zombie, successor] = [this.agent('alpha', 's1'), this.agent('beta', 's2')];
    await zombie.claim(taskId, { lease_duration_seconds: 60 });
    this.harness.advance(3600);
    await successor.claim(taskId);
    await successor.submit(taskId, { made: 'in time' });
    await zombie.submit(taskId, { made: 'too late', text: 'x'.repeat(2000) });
  }

  /** A result is refused and parked, and an operator adopts it while nobody holds the task. */
  async adoptParked(taskId: string): Promise<void> {
    const [late, other] = [this.agent('alpha', 's1'), this.agent('beta', 's2')];
    await late.claim(taskId, { lease_duration_seconds: 60 });
    this.harness.advance(3600);
    await other.claim(taskId);
    const { parked } = await late.submit(taskId, { made: 'first' });
    await other.release(taskId);
    const body = { expected_generation: 2, reason: 'it is good\nas it is', result_id: parked };
    unwrap(await this.coordinator.decisions.operate(PROJECT_KEY, taskId, 'adopt', body));
  }

  async openSigning(sessionId: string, keys = generateKeyPairSync('ed25519')): Promise<SigningSession> {
    const opening = { session_id: sessionId, project_id: PROJECT_KEY.project_id, user_id: 'alice' };
    unwrap(
      await this.coordinator.sessions.open(PROJECT_KEY.tenant_id, {
        ...opening,
        public_key: publicKeyText(keys.publicKey),
      }),
    );
    return this.signingWith(keys.privateKey);
  }

  private signingWith(key: KeyObject): SigningSession {
    const sent: SentBody[] = [];
    const sign = (command: SignedCommand, fields: object) => {
      const body = { request_id: `r${sent.length + 1}`, ...fields };
      const at = new Date(this.harness.environment.clock.wallMs());
      const signed = { ...body, signature: signCommand({ ...PROJECT_KEY, command, body }, key, at) };
      sent.push(signed);
      return signed;
    };
    return { sent, sign };
  }

  /** Claims and completes a task with signed commands, whose bodies are returned. */
  async completeSigned(taskId: string, sessionId = 'signed'): Promise<readonly SentBody[]> {
    const { sent, sign } = await this.openSigning(sessionId);
    const claim = sign('claim_task', { task_id: taskId, agent_id: 'alpha', session_id: sessionId });
    const reply = unwrap(await this.coordinator.claims.claimTask(PROJECT_KEY, claim));
    const claim_id = reply.claim !== null && 'id' in reply.claim ? reply.claim.id : '';
    const handle = { task_id: taskId, session_id: sessionId, generation: 1, claim_id };
    unwrap(
      await this.coordinator.holder.submitResult(
        PROJECT_KEY,
        sign('submit_result', { ...handle, result_data: { ok: 1 } }),
      ),
    );
    return sent;
  }

  async collectProof(taskId: string, sent: readonly SentBody[] = []): Promise<TaskProof> {
    await this.coordinator.audit.checkpoint();
    return collectTaskProof(this.client, taskId, sent);
  }
}

export const rolesIn = ({ events }: TaskProof): string[] => events.map(({ role }) => role);
/** The lines about events, without their times and positions. */
export const linesOf = ({ summary }: TaskProof): string[] =>
  summary.slice(1, -1).map((line) => line.replace(/^\S+, position \d+: /, ''));
