import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ClaimEventKind, claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { SeededRandom } from '../support/seeded-random.js';
import { type LinkTarget, linkOverHttp, linkOverMcp, type ModelLink } from './model-links.js';
import {
  fileOf,
  handleIn,
  type Instructions,
  nextCall,
  readReply,
  type ScriptedCall,
  type ServerReply,
  textOf,
} from './scripted-model.js';
import { COMMENT, genIn, projectFolder, ServedProject } from './served-project.js';

/** The lease of a model that dies or freezes: short, so that its work is soon granted to another model. */
const SHORT_LEASE_SECONDS = 2;
const FORGET_CHANCE_PERCENT = 20;
/** Maximum time from an accepted result to its promoted file; ends a test that hangs. */
const PROMOTION_TIMEOUT_MS = 600_000;

interface Model {
  readonly name: string;
  readonly fate: 'works on' | 'is killed' | 'freezes';
  readonly instructions: Instructions;
}

const modelsWith = (common: Instructions): Model[] => {
  const withShortLease = { ...common, lease_duration_seconds: SHORT_LEASE_SECONDS };
  return [
    { name: 'ada', fate: 'works on', instructions: common },
    { name: 'ben', fate: 'is killed', instructions: withShortLease },
    { name: 'cleo', fate: 'freezes', instructions: withShortLease },
  ];
};

/** When one model is killed and another freezes. */
interface FateSchedule {
  /** The number of the grant at which each of these two models is killed or freezes. */
  readonly at_grant: number;
  /** After this many replies the third model waits until one is killed and the other frozen, so that both get work. */
  readonly head_start: number;
}

/** The replies that a model received, in order. */
interface ModelTranscript {
  readonly model: Model;
  readonly replies: ServerReply[];
  /** The replies to results whose work had meanwhile been granted to another model. */
  readonly lateReplies: ServerReply[];
}

/** Runs one model until all work is done or the model is killed. In `finish`, `text` is all that the model itself knows. */
class ModelRun {
  readonly heard: ModelTranscript;
  private grants = 0;
  /** The ids of work that was granted to the model and that it has not submitted. */
  private readonly heldTaskIds = new Set<string>();
  private meetFate = () => {};
  readonly fateMet = new Promise<void>((resolve) => {
    this.meetFate = resolve;
  });

  constructor(
    private readonly model: Model,
    private readonly link: ModelLink,
    private readonly project: ServedProject,
    private readonly random: SeededRandom,
  ) {
    this.heard = { model, replies: [], lateReplies: [] };
    if (model.fate === 'works on') this.meetFate();
  }

  async finish(
    { at_grant, head_start }: FateSchedule,
    others: readonly ModelRun[],
  ): Promise<ModelTranscript> {
    const { model, heard, random } = this;
    let text: string | null = null;
    for (;;) {
      if (model.fate === 'works on' && heard.replies.length === head_start)
        await Promise.all(others.map(({ fateMet }) => fateMet));
      const call = nextCall(text, model.instructions);
      if (call === null) return heard;
      text = await this.link.call(call);
      const reply = readReply(text);
      heard.replies.push(reply);
      await this.expectNoWaitForItself(call, reply);
      if (reply.reason === 'GRANTED' && reply.resumed !== true) this.grants += 1;
      if (model.fate !== 'works on' && reply.reason === 'GRANTED' && this.grants === at_grant) {
        this.grants += 1;
        this.meetFate();
        if (model.fate === 'is killed') {
          this.link.kill();
          return heard;
        }
        text = await this.freezeAndSubmit(reply);
      }
      if (random.chance(FORGET_CHANCE_PERCENT)) text = null;
    }
  }

  /** Expects that the model is never told to wait while it holds work. A candidate under review does not count. */
  private async expectNoWaitForItself({ tool, args }: ScriptedCall, reply: ServerReply): Promise<void> {
    const { reason } = reply;
    if (reason === 'GRANTED') this.heldTaskIds.add(handleIn(reply)?.task_id ?? '');
    if (tool === 'submit' && reason !== 'NOT_CONVERGED')
      this.heldTaskIds.delete(handleIn(args)?.task_id ?? '');
    if (reason !== 'NOTHING_READY') return;
    for (const subject of this.heldTaskIds)
      expect(await this.project.isHeldBy(subject, this.link.session_id), subject).toBe(false);
  }

  /** Freezes until another model has been granted the same work, and then submits. */
  private async freezeAndSubmit(granted: ServerReply): Promise<string> {
    const { task_id = '', generation = 0 } = handleIn(granted) ?? {};
    this.link.freeze();
    await this.project.waitForGrant(task_id, generation + 1);
    this.link.thaw();
    // Resumed work is submitted without a note before it.
    const call = nextCall(JSON.stringify({ ...granted, resumed: true }), this.model.instructions);
    if (call?.tool !== 'submit') throw new Error('The model did not submit.');
    const text = await this.link.call(call);
    this.heard.lateReplies.push(readReply(text));
    return text;
  }
}

/** Whether the model can continue after this reply: it has work, is told the next call, or all work is done. */
const hasNextStep = (reply: ServerReply): boolean =>
  handleIn(reply) !== undefined || (reply.next ?? '') !== '' || reply.done === true;

/** Whether the reply is a success without a next call. Over HTTP it has none, because the calling program decides that. */
const isPlainSuccess = ({ accepted, success, reason }: ServerReply): boolean =>
  (accepted === true && reason === 'ACCEPTED') || (success === true && reason === 'NOTED');

async function runModels(
  project: ServedProject,
  link: (target: LinkTarget, name: string) => Promise<ModelLink>,
  common: Instructions,
  schedule: FateSchedule,
): Promise<ModelTranscript[]> {
  const runs = await Promise.all(
    modelsWith(common).map(
      async (model, seed) =>
        new ModelRun(model, await link(project, model.name), project, new SeededRandom(seed + 1)),
    ),
  );
  return Promise.all(runs.map((run) => run.finish(schedule, runs)));
}

function expectNextStepInEveryReply(heard: readonly ModelTranscript[], transport: string): void {
  for (const { model, replies, lateReplies } of heard) {
    for (const reply of [...replies, ...lateReplies]) {
      const canContinue = hasNextStep(reply) || (transport === 'HTTP' && isPlainSuccess(reply));
      expect(canContinue, JSON.stringify(reply)).toBe(true);
    }
    if (model.fate !== 'is killed') expect(replies.at(-1), model.name).toMatchObject({ done: true });
    expect(lateReplies, model.name).toHaveLength(model.fate === 'freezes' ? 1 : 0);
    for (const reply of lateReplies)
      expect(reply).toMatchObject({
        accepted: false,
        reason: 'STALE_GENERATION',
        parked: expect.stringMatching(/^res_/),
      });
  }
}

/** Expects that the work of the killed model was granted to another model. */
function expectTakeover(log: readonly EventEnvelope[], heard: readonly ModelTranscript[]): void {
  const killed = heard.find(({ model }) => model.fate === 'is killed');
  const { task_id, generation = 0 } = handleIn(killed?.replies.at(-1) ?? {}) ?? {};
  const granted = eventsOf(log, 'granted').filter(({ subject }) => subject === task_id);
  expect(granted.map((event) => event.generation)).toContain(generation + 1);
}

const eventsOf = (log: readonly EventEnvelope[], kind: ClaimEventKind): EventEnvelope[] =>
  log.filter(({ event_type }) => claimEventKindOf(event_type) === kind);

/** Expects generations that rise by one per grant, and one accepted result per subject, of its last generation. */
function expectNothingLostOrTwice(log: readonly EventEnvelope[], subjects: readonly string[]): void {
  const generationsOf = (subject: string, kind: ClaimEventKind) =>
    eventsOf(log, kind)
      .filter((event) => event.subject === subject)
      .map(({ generation }) => generation);
  for (const subject of subjects) {
    const granted = generationsOf(subject, 'granted');
    expect(granted, subject).toEqual(granted.map((_, index) => index + 1));
    expect(generationsOf(subject, 'accepted'), subject).toEqual([granted.length]);
    expect(generationsOf(subject, 'adopted'), subject).toEqual([]);
  }
  const grantedSubjects = new Set(eventsOf(log, 'granted').map(({ subject }) => subject));
  expect([...grantedSubjects].sort()).toEqual([...subjects].sort());
}

/** Expects one request for changes, and then an approval under the same claim. Returns the event of the request. */
function expectChangesMade(log: readonly EventEnvelope[]): EventEnvelope {
  const reviews = eventsOf(log, 'reviewed');
  const [changeRequest, ...others] = reviews.filter(
    ({ payload }) => payload.decision === 'CHANGES_REQUESTED',
  );
  expect(others).toEqual([]);
  const decisions = reviews
    .filter(
      ({ subject, generation }) =>
        subject === changeRequest?.subject && generation === changeRequest?.generation,
    )
    .map(({ payload }) => payload.decision);
  expect(decisions).toEqual(['CHANGES_REQUESTED', 'APPROVED']);
  return changeRequest as EventEnvelope;
}

/** 40 tasks in five tracks. Some wait for another track, and two have subtasks. */
function planOfForty(): { text: string; subjects: string[] } {
  const subjects: string[] = [];
  const tracks = Object.fromEntries(
    ['A', 'B', 'C', 'D', 'E'].map((track, at) => [
      track,
      Array.from({ length: 8 }, (_, index) => {
        const id = `${track}-00${index + 1}-part`;
        const parts = index === 3 && at < 2 ? [1, 2] : [];
        subjects.push(id, ...parts.map((part) => `${id}::${part}`));
        const isIndependent = index % 2 === 1;
        const otherTrack = index === 4 && at > 0 ? { depends_on: [`${track}-004-part`, 'A-004-part'] } : {};
        return {
          id,
          description: `Part ${index + 1} of ${track}`,
          ...(isIndependent && index > 4 ? { depends_on: [] } : otherTrack),
          ...(parts.length === 0 ? {} : { subtasks: parts.length }),
        };
      }),
    ]),
  );
  return { text: JSON.stringify({ project: 'shop', tracks }), subjects };
}

const FEATURES = ['REQ-F-SHOP-001', 'REQ-F-SHOP-002', 'REQ-F-SHOP-003'];
const EDGES = ['intent_requirements', 'design_code'];
const gatedEdge = (edge: string): string => `edge: ${edge}
checklist:
  - {name: reads_well, type: agent, criterion: A stranger can read it, required: true}
  - {name: owner_agrees, type: human, criterion: The owner has read it, required: true}
`;

async function replaceIn(path: string, pattern: string | RegExp, replacement: string): Promise<void> {
  const before = await readFile(path, 'utf8');
  const after = before.replace(pattern, replacement);
  if (after === before) throw new Error(`${path} has no ${pattern}`);
  await writeFile(path, after);
}

/** A workspace of three features. A person decides on each of their edges. */
async function threeFeatures(): Promise<{ cwd: string; subjects: string[] }> {
  const cwd = await projectFolder();
  await genIn(cwd, 'init', '--name', 'shop', '--intent', 'Sell books');
  await replaceIn(join(cwd, '.ai-workspace/coordination.yml'), 'on_ttl: hold', 'on_ttl: takeover');
  await replaceIn(join(cwd, '.ai-workspace/profiles/minimal.yml'), '[agent]', '[agent, human]');
  await replaceIn(
    join(cwd, '.ai-workspace/context/project_constraints.yml'),
    /(ecosystem_compatibility|deployment_target|security_model|build_system): ""/g,
    '$1: decided',
  );
  for (const edge of EDGES)
    await writeFile(join(cwd, `.ai-workspace/graph/edges/${edge}.yml`), gatedEdge(edge));
  for (const id of FEATURES)
    await genIn(
      cwd,
      'spawn',
      '--type',
      'feature',
      '--id',
      id,
      '--profile',
      'minimal',
      '--reason',
      'more sales',
    );
  return { cwd, subjects: FEATURES.flatMap((feature) => EDGES.map((edge) => `${feature}#${edge}`)) };
}

const TRANSPORTS = [
  { transport: 'gen mcp', link: linkOverMcp, usesDrafts: true },
  { transport: 'HTTP', link: linkOverHttp, usesDrafts: false },
];

describe.each(TRANSPORTS)(
  'three models that forget everything, over $transport',
  ({ transport, link, usesDrafts }) => {
    test('finish a plan of 40 tasks, although one is killed and one freezes', async () => {
      const cwd = await projectFolder();
      const { text, subjects } = planOfForty();
      const store = join(cwd, 'log');
      const project = await ServedProject.start(cwd, store);
      await writeFile(join(cwd, 'plan.json'), text);
      await genIn(cwd, 'plan', 'import', 'plan.json', '--url', project.url);
      project.follow();
      const heard = await runModels(project, link, { usesDrafts }, { at_grant: 3, head_start: 20 });
      expectNextStepInEveryReply(heard, transport);
      const log = await project.wholeLog();
      expectNothingLostOrTwice(log, subjects);
      expectTakeover(log, heard);
      await project.stop();
      await genIn(cwd, 'verify', store);
    });

    test('finish three features whose gates a person answers, although one is killed and one freezes', async () => {
      const { cwd, subjects } = await threeFeatures();
      const project = await ServedProject.start(cwd);
      project.follow();
      void project.reviewAll((agent) => agent.endsWith('ada'));
      const instructions = { usesDrafts, agent_role: 'full_stack' };
      const heard = await runModels(project, link, instructions, { at_grant: 1, head_start: 0 });
      expectNextStepInEveryReply(heard, transport);
      const log = await project.wholeLog();
      expectNothingLostOrTwice(log, subjects);
      expectTakeover(log, heard);
      const changeRequest = expectChangesMade(log);
      for (const { subject, generation, payload } of eventsOf(log, 'accepted')) {
        const comment = subject === changeRequest.subject ? COMMENT : null;
        if (usesDrafts) {
          const text = textOf({ task_id: subject ?? '', generation: generation ?? 0 }, comment);
          const file = () => readFile(join(cwd, fileOf(subject ?? '')), 'utf8').catch(() => null);
          await expect.poll(file, { timeout: PROMOTION_TIMEOUT_MS }).toBe(text);
        } else expect(payload.result_data).toEqual({ task_id: subject, generation, comment });
      }
      await project.stop();
      await genIn(cwd, 'verify');
    });
  },
);
