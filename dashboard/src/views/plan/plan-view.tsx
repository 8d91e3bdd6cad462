import { type ComponentProps, startTransition, useDeferredValue, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useHashQuery } from '../../components/hash-location.js';
import { Empty, QueryResult } from '../../components/states.js';
import PlanGraph from './graph-view.js';
import PlanList from './list-view.js';
import { TASKS_MAX, usePlan, useTaskStates } from './use-plan.js';
import './plan.css';

const TABS = ['graph', 'list'] as const;

/** The plan as a graph or as a list. */
export default function PlanView() {
  const [query] = useHashQuery();
  const tab = query.get('tab') === 'list' ? 'list' : 'graph';
  // The chosen tab is marked at once. Drawing the plan may take longer than a frame.
  const shownTab = useDeferredValue(tab);
  const plan = usePlan();
  const states = useTaskStates();
  return (
    <>
      <div className="row plan-top">
        <h1>Plan</h1>
        <nav className="tabs" aria-label="Show the plan as">
          {TABS.map((name) => (
            <Link key={name} href={tabPath(query, name)} aria-current={name === tab ? 'page' : undefined}>
              {name === 'graph' ? 'Graph' : 'List'}
            </Link>
          ))}
        </nav>
      </div>
      <QueryResult query={plan}>
        {(loadedPlan) => (
          <QueryResult query={states}>
            {({ tasks, isCut }) => {
              if (loadedPlan.task_count === 0) return <NoPlan />;
              return (
                <>
                  {isCut ? <p className="failure">Only the first {TASKS_MAX} tasks are shown.</p> : null}
                  <ShownTab tab={shownTab} plan={loadedPlan} states={tasks} />
                </>
              );
            }}
          </QueryResult>
        )}
      </QueryResult>
    </>
  );
}

type ShownTabProps = ComponentProps<typeof PlanGraph> & { readonly tab: (typeof TABS)[number] };

/**
 * Keeps the graph drawn behind the list, because drawing it again would take longer and lose its position. If the page
 * begins with the list, the graph is drawn when the browser is idle.
 */
function ShownTab({ tab, plan, states }: ShownTabProps) {
  const isIdle = useIsIdle();
  const drawn = useRef<ComponentProps<typeof PlanGraph> | null>(null);
  if (tab === 'graph' || (isIdle && drawn.current === null)) drawn.current = { plan, states };
  return (
    <div className="plan-tabs">
      {tab === 'list' ? <PlanList plan={plan} states={states} /> : null}
      {drawn.current === null ? null : (
        <div className={tab === 'graph' ? undefined : 'plan-behind'}>
          <PlanGraph {...drawn.current} />
        </div>
      )}
    </div>
  );
}

/** The delay in browsers without `requestIdleCallback`. */
const IDLE_AFTER_MS = 500;

/** Whether the browser has been idle once. The rendering that follows can be interrupted by a person's input. */
function useIsIdle(): boolean {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    const onIdle = () => startTransition(() => setIdle(true));
    if (typeof requestIdleCallback === 'undefined') {
      const timer = setTimeout(onIdle, IDLE_AFTER_MS);
      return () => clearTimeout(timer);
    }
    const callback = requestIdleCallback(onIdle);
    return () => cancelIdleCallback(callback);
  }, []);
  return isIdle;
}

const NoPlan = () => (
  <Empty title="There is no plan yet">
    <p>
      Import one: <code>gen plan import FILE</code>. A workspace may have features instead:{' '}
      <Link href="/features">Features</Link>
    </p>
  </Empty>
);

function tabPath(query: URLSearchParams, tab: string): string {
  const nextQuery = new URLSearchParams(query);
  nextQuery.set('tab', tab);
  return `/plan?${nextQuery}`;
}
