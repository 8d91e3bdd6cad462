import { useMemo } from 'react';
import { useLocation } from 'wouter';
import { forgetKey, readKey } from '../api/key.js';
import { addressOf, scope } from '../api/scope.js';
import { useReply } from '../api/use-reply.js';
import { useIsAllowed, useWhoami } from '../api/whoami.js';
import { taskPath } from '../components/links.js';
import { chooseTheme, readTheme } from '../components/theme.js';
import { actorName } from '../model/actor-name.js';
import { useFeatures } from '../views/features/use-features.js';
import { requestVerification } from '../views/log/verification-request.js';
import { subjectRows } from '../views/plan/plan-tasks.js';
import { usePlan, useTaskStates } from '../views/plan/use-plan.js';
import { ACTION_NAMES, actionsFor } from '../views/task/operator-actions.js';
import type { PaletteEntry } from './entries.js';

const AGENTS_READ_MAX = 1000;
const RUNS_READ_MAX = 100;

const VIEWS = [
  ['Fleet', '/', 'agents and what they do'],
  ['Plan: graph', '/plan', 'tracks and dependencies'],
  ['Plan: list', '/plan?tab=list', 'tasks by filter'],
  ['Runs', '/runs', 'iterations of edges'],
  ['Inbox', '/inbox', 'what waits for a person'],
  ['Features', '/features', 'features and edges'],
  ['Log', '/log', 'events, state at an earlier time'],
] as const;

type Navigate = (path: string) => void;

/** Everything that the palette can open: the commands of the shown task, the views, the commands of the page, the rest. */
export function useEntries(): readonly PaletteEntry[] {
  const [, go] = useLocation();
  const taskCommands = useTaskCommands();
  const pageCommands = usePageCommands();
  const taskEntries = useTaskEntries(go);
  const otherEntries = useOtherEntries(go);
  return useMemo(() => {
    const views = VIEWS.map(([name, path, detail]) => entryOf('view', name, detail, () => go(path)));
    return [...taskCommands, ...views, ...pageCommands, ...taskEntries, ...otherEntries];
  }, [go, taskCommands, pageCommands, taskEntries, otherEntries]);
}

const entryOf = (
  kind: PaletteEntry['kind'],
  name: string,
  detail: string,
  open: () => void,
): PaletteEntry => ({ kind, name, detail, open });

/** What an operator may do with the task or edge that is shown. */
function useTaskCommands(): readonly PaletteEntry[] {
  const [path, go] = useLocation();
  const subject = subjectOf(path);
  const params = { subject: subject ?? '' };
  const state = useReply('get_task_state', { params }, subject !== null).data;
  const operations = useWhoami().data?.operations;
  return useMemo(() => {
    if (subject === null || state === undefined || operations === undefined) return [];
    return actionsFor(state)
      .filter((action) => operations.includes(action))
      .map((action) =>
        entryOf('command', `${ACTION_NAMES[action]} ${subject}…`, '', () =>
          go(`${taskPath(subject)}?do=${action}`),
        ),
      );
  }, [go, subject, state, operations]);
}

/** The task or edge whose page has this path. */
function subjectOf(path: string): string | null {
  const [, encoded] = /^\/task\/([^/]+)$/.exec(path) ?? [];
  try {
    return encoded === undefined ? null : decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

function usePageCommands(): readonly PaletteEntry[] {
  const [, go] = useLocation();
  const canVerify = useIsAllowed('verify_log');
  return useMemo(() => {
    const theme = readTheme() === 'dark' ? 'light' : 'dark';
    const commands = [
      entryOf('command', `Use the ${theme} theme`, '', () => chooseTheme(theme)),
      entryOf('command', 'API reference', 'operations, with requests to try', () => location.assign('/docs')),
      entryOf('command', 'Projects', 'of this tenant', () => location.assign(projectsAddress())),
    ];
    const verify = () => {
      requestVerification();
      go('/log');
    };
    if (canVerify) commands.push(entryOf('command', 'Verify the log', 'is it intact?', verify));
    if (readKey() !== null) commands.push(entryOf('command', 'Change key', '', changeKey));
    return commands;
  }, [go, canVerify]);
}

function projectsAddress(): string {
  const { tenant } = scope();
  return tenant === 'default' ? '/' : `/?tenant=${encodeURIComponent(tenant)}`;
}

function changeKey(): void {
  forgetKey();
  location.reload();
}

/** Tasks and subtasks by id and description. */
function useTaskEntries(go: Navigate): readonly PaletteEntry[] {
  const plan = usePlan().data;
  const states = useTaskStates().data;
  return useMemo(() => {
    if (plan === undefined || states === undefined) return [];
    return subjectRows(plan, states.tasks).map(({ id, description, readiness, holder }) =>
      entryOf('task', id, [readiness, holder, description].filter((text) => text !== '').join(' · '), () =>
        go(taskPath(id)),
      ),
    );
  }, [go, plan, states]);
}

/** Edges, agents, runs and the other projects. */
function useOtherEntries(go: Navigate): readonly PaletteEntry[] {
  const features = useFeatures().data?.features;
  const agents = useReply('agents', { query: { limit: AGENTS_READ_MAX } }).data?.agents;
  const runs = useReply('list_runs', { query: { limit: RUNS_READ_MAX } }).data?.runs;
  const projects = useReply('list_projects').data?.projects;
  return useMemo(() => {
    const { tenant, project } = scope();
    return [
      ...(features ?? []).flatMap(({ feature_id, title, you_are_here }) =>
        you_are_here.map(({ edge, stage }) => {
          const subject = `${feature_id}#${edge}`;
          return entryOf('edge', subject, `${stage} · ${title}`, () => go(taskPath(subject)));
        }),
      ),
      ...(agents ?? []).map(({ agent_id }) => {
        const name = actorName(agent_id);
        const path = `/log?${new URLSearchParams({ agent: name })}`;
        return entryOf('agent', name, 'its events', () => go(path));
      }),
      ...(runs ?? []).map(({ run_id, task_id, status }) =>
        entryOf('run', run_id, `${status} · ${task_id}`, () => go(`/runs/${run_id}`)),
      ),
      ...(projects ?? [])
        .filter(({ project_id }) => project_id !== project)
        .map(({ project_id }) =>
          entryOf('project', project_id, 'another project', () =>
            location.assign(addressOf({ tenant, project: project_id })),
          ),
        ),
    ];
  }, [go, features, agents, runs, projects]);
}
