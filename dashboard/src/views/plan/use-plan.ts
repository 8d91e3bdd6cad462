import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import type { TaskState } from '../../../../src/core/contract/tasks.js';
import { call } from '../../api/call.js';
import { useLive } from '../../live/live.js';
import { planOf } from './plan-tasks.js';

const PAGE_TASKS = 1000;
/** The page shows at most this many tasks. */
export const TASKS_MAX = 10_000;

interface ReadTasks {
  readonly tasks: readonly TaskState[];
  /** Whether there are more tasks. */
  readonly isCut: boolean;
}

/** The states of all tasks. An unchanged state stays the same object, so only changed tasks are drawn again. */
export const useTaskStates = () =>
  useQuery<ReadTasks>({ queryKey: ['list_tasks', 'all'], queryFn: readAllTasks });

async function readAllTasks(): Promise<ReadTasks> {
  const tasks: TaskState[] = [];
  let after: string | undefined;
  while (tasks.length < TASKS_MAX) {
    const page = await call('list_tasks', { query: { limit: PAGE_TASKS, after } });
    tasks.push(...page.tasks);
    if (page.next === null) return { tasks, isCut: false };
    after = page.next;
  }
  return { tasks, isCut: true };
}

const PLAN_KEY = ['get_plan'];

/** The plan. It is large and rarely changes, so it is read again only when it has changed. */
export function usePlan() {
  const client = useQueryClient();
  const { events } = useLive();
  const changedAt = events.findLast(({ event_type }) => event_type === 'PLAN_CHANGED')?.position ?? 0;
  useEffect(() => {
    if (changedAt > 0) void client.invalidateQueries({ queryKey: PLAN_KEY });
  }, [changedAt, client]);
  const query = useQuery({
    queryKey: PLAN_KEY,
    queryFn: () => call('get_plan'),
    staleTime: 0,
    meta: { isFixed: true },
  });
  const plan = useMemo(() => (query.data === undefined ? undefined : planOf(query.data.plan)), [query.data]);
  return { data: plan, error: query.error };
}
