/**
 * Who: an agent of the same tenant. It holds a valid key of role agent, and reads the session ids of its colleagues
 * from the session list, as every reader of the tenant may.
 *
 * What they want: to stop a colleague (closing a session releases all its claims), to work under the colleague's name
 * (a session's claims are recorded under the user of the session), or to replace the key that the session's signatures
 * are checked with.
 *
 * What stops them: a session belongs to the principal that opened it, by request or by its first claim. That principal,
 * a credential of the same user, and an admin control it; others get 403. The log names the principal. A session keeps
 * the public key it was opened with, and a different one is refused.
 */
import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { publicKeyText } from '../../src/client/sign-command.js';
import { type AnyJson, PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { bearer } from '../support/bearer.js';

const [TASK, OTHER_TASK] = ['A-001-core', 'B-001-data'] as const;
const newPublicKey = (): string => publicKeyText(generateKeyPairSync('ed25519').publicKey);

interface ApiActor {
  readonly principal: string;
  readonly headers: Record<string, string>;
}

let testServer: TestServer;
let admin: ApiActor;
let alice: ApiActor;
let aliceSecondKey: ApiActor;
let bob: ApiActor;
/** An agent's key without a user. */
let userless: ApiActor;
let otherUserless: ApiActor;

beforeEach(async () => {
  testServer = await TestServer.forTest();
  await testServer.putPlan(TASK, OTHER_TASK);
  let headers: Record<string, string> = {};
  const create = async (body: object): Promise<ApiActor> => {
    const { key_id, token } = (await testServer.request('POST', `${TENANT_URL}/keys`, body, headers)).body;
    return { principal: `key-${key_id}`, headers: bearer(token) };
  };
  admin = await create({ role: 'admin', user_id: 'root' });
  headers = admin.headers;
  alice = await create({ role: 'agent', user_id: 'alice' });
  aliceSecondKey = await create({ role: 'agent', user_id: 'alice' });
  bob = await create({ role: 'agent', user_id: 'bob' });
  userless = await create({ role: 'agent' });
  otherUserless = await create({ role: 'agent' });
});

const open = (actor: ApiActor, body: object) =>
  testServer.request('POST', `${TENANT_URL}/sessions`, { project_id: 'shop', ...body }, actor.headers);
const close = (actor: ApiActor, sessionId: string) =>
  testServer.request('DELETE', `${TENANT_URL}/sessions/${sessionId}`, undefined, actor.headers);
const claim = (actor: ApiActor, task_id: string, session_id: string, projectUrl = PROJECT_URL) =>
  testServer.request(
    'POST',
    `${projectUrl}/claims`,
    { task_id, agent_id: 'worker', session_id },
    actor.headers,
  );
const events = async (type: string): Promise<AnyJson[]> =>
  (await testServer.request('GET', `${PROJECT_URL}/events?type=${type}`, undefined, admin.headers)).body
    .events;
const claimState = async (taskId: string): Promise<string> =>
  (await testServer.request('GET', `${PROJECT_URL}/tasks/${taskId}`, undefined, admin.headers)).body.claim
    .state;
const userOfClaim = async (taskId: string): Promise<string | null> =>
  (await testServer.request('GET', `${PROJECT_URL}/tasks/${taskId}/history`, undefined, admin.headers)).body
    .generations[0].user_id;

const FORBIDDEN = [403, 'FORBIDDEN'];
const statusAndCode = ({ status, body }: { status: number; body: AnyJson }) => [
  status,
  body.code ?? body.reason,
];

describe('closing a session', () => {
  it('is refused to another agent of the tenant, and its claims stay active', async () => {
    await claim(alice, TASK, 'sess-alice');
    const listed = await testServer.request('GET', `${TENANT_URL}/sessions`, undefined, bob.headers);
    const [{ session_id }] = listed.body.sessions;
    for (const stranger of [bob, userless])
      expect(statusAndCode(await close(stranger, session_id))).toEqual(FORBIDDEN);
    expect(await claimState(TASK)).toBe('ACTIVE');
    expect(await events('SESSION_CLOSED')).toEqual([]);
  });

  it('is refused to another credential if neither has a user', async () => {
    await claim(userless, TASK, 'sess-nameless');
    expect(statusAndCode(await close(otherUserless, 'sess-nameless'))).toEqual(FORBIDDEN);
    expect(await claimState(TASK)).toBe('ACTIVE');
  });

  it('is allowed for the principal that opened it, another credential of its user, and an admin', async () => {
    await claim(userless, TASK, 'sess-nameless');
    await open(alice, { session_id: 'sess-1', user_id: 'alice' });
    await open(alice, { session_id: 'sess-2', user_id: 'alice' });
    await open(alice, { session_id: 'sess-3', user_id: 'alice' });
    expect(statusAndCode(await close(userless, 'sess-nameless'))).toEqual([200, 'CLOSED']);
    expect(statusAndCode(await close(alice, 'sess-1'))).toEqual([200, 'CLOSED']);
    expect(statusAndCode(await close(aliceSecondKey, 'sess-2'))).toEqual([200, 'CLOSED']);
    expect(statusAndCode(await close(admin, 'sess-3'))).toEqual([200, 'CLOSED']);
    const closed = await events('SESSION_CLOSED');
    expect(closed.map(({ payload }) => payload.principal)).toEqual([
      userless.principal,
      alice.principal,
      aliceSecondKey.principal,
      admin.principal,
    ]);
  });

  it('does not affect a session with the same id in another project, and is not prevented by it', async () => {
    const elsewhere = `${TENANT_URL}/projects/elsewhere`;
    const plan = { tracks: { A: [{ id: TASK, description: 'work', depends_on: [] }] } };
    await testServer.request('PUT', `${elsewhere}/plan`, plan, admin.headers);
    await claim(alice, TASK, 'sess-shared');
    await claim(bob, TASK, 'sess-shared', elsewhere);
    expect(statusAndCode(await close(alice, 'sess-shared'))).toEqual([200, 'CLOSED']);
    expect(await claimState(TASK)).toBe('RELEASED');
    const kept = await testServer.request('GET', `${elsewhere}/tasks/${TASK}`, undefined, admin.headers);
    expect(kept.body.claim.state).toBe('ACTIVE');
  });
});

describe('opening a session', () => {
  it('is refused in the name of another user', async () => {
    for (const impostor of [bob, userless]) {
      const refused = await open(impostor, { session_id: 'sess-x', user_id: 'alice' });
      expect(statusAndCode(refused)).toEqual(FORBIDDEN);
      expect(refused.body.detail).toContain('user_id');
    }
    expect(await events('SESSION_OPENED')).toEqual([]);
  });

  it('is allowed for the caller’s own user, which may be omitted, and for an admin in any name', async () => {
    const own = await open(alice, { session_id: 'sess-1' });
    expect([own.status, own.body.session.user_id]).toEqual([200, 'alice']);
    const none = await open(userless, { session_id: 'sess-2' });
    expect([none.status, none.body.session.user_id]).toEqual([200, null]);
    const other = await open(admin, { session_id: 'sess-3', user_id: 'alice' });
    expect([other.status, other.body.session.user_id]).toEqual([200, 'alice']);
    const opened = await events('SESSION_OPENED');
    expect(opened.map(({ payload }) => payload.principal)).toEqual([
      alice.principal,
      userless.principal,
      admin.principal,
    ]);
  });

  it('is refused if another user has it open, even if its first claim opened it', async () => {
    await claim(alice, TASK, 'sess-alice');
    expect(statusAndCode(await open(bob, { session_id: 'sess-alice', user_id: 'bob' }))).toEqual(FORBIDDEN);
    expect(statusAndCode(await open(aliceSecondKey, { session_id: 'sess-alice' }))).toEqual([200, 'OPENED']);
    const [opened] = await events('SESSION_OPENED');
    expect(opened.payload.principal).toBe(alice.principal);
  });

  it('records the user of the session on a claim by a credential that controls it but has no user', async () => {
    await open(admin, { session_id: 'sess-alice', user_id: 'alice' });
    const body = { role: 'admin' };
    const { token } = (await testServer.request('POST', `${TENANT_URL}/keys`, body, admin.headers)).body;
    await claim({ principal: '', headers: bearer(token) }, TASK, 'sess-alice');
    expect(await userOfClaim(TASK)).toBe('alice');
  });

  it('is refused in a project that does not exist, and so are events and claims; only importing a plan creates it', async () => {
    const invented = `${TENANT_URL}/projects/invented`;
    const refused = await open(bob, { session_id: 'sess-1', project_id: 'invented' });
    expect(statusAndCode(refused)).toEqual([404, 'UNKNOWN_PROJECT']);
    const event = {
      event_type: 'intent_raised',
      agent_id: 'a',
      payload: { intent_id: 'I', trigger: 't', delta: 'd' },
    };
    const claimed = { task_id: 'REQ-F-X-001#design_code', agent_id: 'a', session_id: 's' };
    for (const [path, body] of [
      ['events', event],
      ['claims', claimed],
    ] as const) {
      const reply = await testServer.request('POST', `${invented}/${path}`, body, bob.headers);
      expect(statusAndCode(reply)).toEqual([404, 'UNKNOWN_PROJECT']);
    }
    expect((await open(admin, { session_id: 'sess-1', project_id: 'invented' })).status).toBe(404);
    const listed = await testServer.request('GET', `${TENANT_URL}/projects`, undefined, admin.headers);
    expect(JSON.stringify(listed.body)).not.toContain('invented');
    const plan = { tracks: { A: [{ id: 'A-001-x', description: 'd' }] } };
    expect((await testServer.request('PUT', `${invented}/plan`, plan, bob.headers)).status).toBe(403);
    expect((await testServer.request('PUT', `${invented}/plan`, plan, admin.headers)).status).toBe(200);
    expect((await open(bob, { session_id: 'sess-1', project_id: 'invented' })).status).toBe(200);
  });
});

describe('claiming in a session of another', () => {
  it('is refused, so that its owner cannot end the claim of a colleague by closing it', async () => {
    await open(bob, { session_id: 'sess-alice' });
    expect(statusAndCode(await claim(alice, TASK, 'sess-alice'))).toEqual(FORBIDDEN);
    expect(statusAndCode(await claim(alice, TASK, 'sess-alice-2'))).toEqual([200, 'GRANTED']);
    await close(bob, 'sess-alice');
    expect(await claimState(TASK)).toBe('ACTIVE');
  });

  it('is refused for the next task and for each claim of a batch', async () => {
    await open(bob, { session_id: 'sess-bob' });
    const next = { agent_id: 'worker', session_id: 'sess-bob' };
    const nextReply = await testServer.request('POST', `${PROJECT_URL}/next`, next, alice.headers);
    expect(statusAndCode(nextReply)).toEqual(FORBIDDEN);
    for (const mode of ['partial', 'all_or_nothing']) {
      const claims = [
        { task_id: TASK, agent_id: 'worker', session_id: 'sess-bob' },
        { task_id: OTHER_TASK, agent_id: 'worker', session_id: `sess-${mode}` },
      ];
      const body = { mode, claims };
      const reply = await testServer.request('POST', `${PROJECT_URL}/claims/batch`, body, alice.headers);
      expect(JSON.stringify(reply.body.results[0])).toContain('FORBIDDEN');
      expect(reply.body.results[1].reason).toBe(mode === 'partial' ? 'GRANTED' : 'DENIED_BATCH');
    }
    expect(await events('SESSION_OPENED')).toHaveLength(2);
  });
});

describe('the session of an inbox', () => {
  it('is reserved for it: nobody else opens it first or claims in it', async () => {
    expect(statusAndCode(await open(bob, { session_id: 'inbox.alice' }))).toEqual(FORBIDDEN);
    expect(statusAndCode(await claim(bob, TASK, 'inbox.alice'))).toEqual(FORBIDDEN);
    expect((await open(admin, { session_id: 'inbox.alice' })).status).toBe(200);
  });
});

describe('a session to which an admin reassigns a task', () => {
  const reassign = () =>
    testServer.request(
      'POST',
      `${PROJECT_URL}/tasks/${TASK}/reassign`,
      { agent_id: 'worker', session_id: 'sess-alice', expected_generation: 1, reason: 'bob is away' },
      admin.headers,
    );

  it('still belongs to the agent who opened it before', async () => {
    await open(alice, { session_id: 'sess-alice' });
    await claim(bob, TASK, 'sess-bob');
    expect((await reassign()).status).toBe(200);
    expect(statusAndCode(await claim(alice, OTHER_TASK, 'sess-alice'))).toEqual([200, 'GRANTED']);
    expect(statusAndCode(await claim(bob, OTHER_TASK, 'sess-alice'))).toEqual(FORBIDDEN);
  });

  it('cannot be opened by another agent, who could then end the claim in it', async () => {
    await claim(bob, TASK, 'sess-bob');
    expect((await reassign()).status).toBe(200);
    expect(statusAndCode(await open(bob, { session_id: 'sess-alice' }))).toEqual(FORBIDDEN);
    expect(statusAndCode(await claim(bob, OTHER_TASK, 'sess-alice'))).toEqual(FORBIDDEN);
    const task = await testServer.request('GET', `${PROJECT_URL}/tasks/${TASK}`, undefined, bob.headers);
    expect(task.body.claim).toMatchObject({ session_id: 'sess-alice', state: 'ACTIVE' });
    expect((await open(admin, { session_id: 'sess-alice' })).status).toBe(200);
  });
});

describe('the public key of a session', () => {
  it('is the one it was opened with: another is refused, and the same is accepted', async () => {
    const public_key = newPublicKey();
    expect((await open(alice, { session_id: 'sess-1', public_key })).status).toBe(200);
    expect((await open(alice, { session_id: 'sess-1', public_key })).status).toBe(200);
    expect((await open(alice, { session_id: 'sess-1' })).body.session.public_key).toBe(public_key);
    const second = await open(alice, { session_id: 'sess-1', public_key: newPublicKey() });
    expect(statusAndCode(second)).toEqual([409, 'PUBLIC_KEY_CONFLICT']);
    expect(second.body).toMatchObject({ success: false, session: { public_key } });
    expect(second.body.next).toContain('Open a new session');
  });

  it('is refused, not ignored, for a session that was opened without one', async () => {
    await claim(alice, TASK, 'sess-1');
    const refused = await open(alice, { session_id: 'sess-1', public_key: newPublicKey() });
    expect(statusAndCode(refused)).toEqual([409, 'PUBLIC_KEY_CONFLICT']);
  });

  it('is refused from another user', async () => {
    await open(alice, { session_id: 'sess-1' });
    expect(statusAndCode(await open(bob, { session_id: 'sess-1', public_key: newPublicKey() }))).toEqual(
      FORBIDDEN,
    );
  });
});

describe('an event that an agent appends', () => {
  it('records the principal that sent it, and may not claim another in its payload', async () => {
    const event = {
      event_type: 'intent_raised',
      agent_id: 'alice-agent',
      payload: { intent_id: 'INT-1', trigger: 'drift', delta: 'more' },
    };
    const forged = { ...event, payload: { ...event.payload, principal: alice.principal } };
    expect((await testServer.request('POST', `${PROJECT_URL}/events`, forged, bob.headers)).status).toBe(400);
    const reply = await testServer.request('POST', `${PROJECT_URL}/events`, event, bob.headers);
    expect(reply.body).toMatchObject({ success: true });
    const [written] = await events('intent_raised');
    expect(written.payload.principal).toBe(bob.principal);
  });
});

it('every caller controls every session of an open server, which has only one principal', async () => {
  const openServer = await TestServer.forTest();
  await openServer.putPlan(TASK);
  const session = { session_id: 'sess-1', user_id: 'alice', project_id: 'shop' };
  expect((await openServer.post(`${TENANT_URL}/sessions`, session)).body.reason).toBe('OPENED');
  expect((await openServer.request('DELETE', `${TENANT_URL}/sessions/sess-1`)).body.reason).toBe('CLOSED');
});
