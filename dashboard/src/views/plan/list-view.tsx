import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useDeferredValue, useMemo, useRef, useSyncExternalStore } from 'react';
import type { TaskState } from '../../../../src/core/contract/tasks.js';
import type { Plan } from '../../../../src/core/plan/plan.js';
import { useHashQuery } from '../../components/hash-location.js';
import { TaskLink } from '../../components/links.js';
import { ReadinessMark } from '../../components/readiness-mark.js';
import { Empty } from '../../components/states.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { FilterForm } from './filter-form.js';
import { filterFrom, filterRows, sortedById } from './list-filter.js';
import { type SubjectRow, subjectRows } from './plan-tasks.js';

/** The row height in plan.css, given in advance because measuring each row costs a layout. */
const ROW_HEIGHT = 38;
const NARROW_ROW_HEIGHT = 84;
const narrow = matchMedia('(max-width: 700px)');
const COLUMNS = ['Task', 'State', 'Held by or waits for', 'Generation', 'Description'];

/** Tasks and subtasks as a list. Only the rows in the window are in the document. */
export default memo(function PlanList({ plan, states }: { plan: Plan; states: readonly TaskState[] }) {
  const [query] = useHashQuery();
  // The typed text appears at once, and the rows follow.
  const deferredQuery = useDeferredValue(query);
  const rows = useMemo(() => sortedById(subjectRows(plan, states)), [plan, states]);
  const matchingRows = useMemo(() => filterRows(rows, filterFrom(deferredQuery)), [rows, deferredQuery]);
  return (
    <>
      <FilterForm rows={rows} />
      <p className="quiet" role="status">
        {matchingRows.length} of {rows.length}
      </p>
      {matchingRows.length === 0 ? (
        <Empty title="No task matches this filter" />
      ) : (
        <Rows rows={matchingRows} />
      )}
    </>
  );
});

function subscribeToWidth(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

const Rows = memo(function Rows({ rows }: { rows: readonly SubjectRow[] }) {
  const isNarrow = useSyncExternalStore(subscribeToWidth, () => narrow.matches);
  // Other heights need another virtualizer.
  return (
    <RowsOfHeight key={String(isNarrow)} rows={rows} rowPx={isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT} />
  );
});

function RowsOfHeight({ rows, rowPx }: { rows: readonly SubjectRow[]; rowPx: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 5,
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="plan-list" ref={scroller} aria-label="List of tasks" tabIndex={0}>
      {/* biome-ignore lint/a11y/useSemanticElements: rows are placed one by one, which a table element cannot */}
      <div role="table" aria-label="Tasks" aria-rowcount={rows.length + 1}>
        <Header />
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="rowgroup" className="plan-rows" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => (
            // biome-ignore lint/a11y/useSemanticElements: see above
            // biome-ignore lint/a11y/useFocusableInteractive: the link in the row takes the focus
            <div
              key={key}
              role="row"
              className="plan-row"
              aria-rowindex={index + 2}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Cells row={rows[index] as SubjectRow} />
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

const Header = () => (
  // biome-ignore lint/a11y/useSemanticElements: see above
  <div role="rowgroup">
    {/* biome-ignore lint/a11y/useSemanticElements: see above */}
    {/* biome-ignore lint/a11y/useFocusableInteractive: nothing in it can be operated */}
    <div role="row" className="plan-row plan-header" aria-rowindex={1}>
      {COLUMNS.map((name) => (
        // biome-ignore lint/a11y/useSemanticElements: see above
        // biome-ignore lint/a11y/useFocusableInteractive: nothing in it can be operated
        <span key={name} role="columnheader">
          {name}
        </span>
      ))}
    </div>
  </div>
);

const Cells = memo(function Cells({ row }: { row: SubjectRow }) {
  const { id, readiness, holder, generation, description, waiting_for, parked } = row;
  return (
    <>
      {/* biome-ignore-start lint/a11y/useSemanticElements: see above */}
      <span role="cell" className="plan-id" title={id}>
        <TaskLink id={id} />
      </span>
      <span role="cell" className="plan-state">
        <ReadinessMark readiness={readiness} />{' '}
        {parked > 0 ? <span className="mark mark-warn">{parked} parked</span> : null}
      </span>
      <span role="cell" className="plan-holder" title={holder === '' ? waiting_for.join(', ') : holder}>
        {holder === '' ? <WaitingFor ids={waiting_for} /> : holder}
      </span>
      <span role="cell" className="plan-generation">
        {generation}
      </span>
      <span role="cell" className="plan-description">
        <UntrustedText text={description} />
      </span>
      {/* biome-ignore-end lint/a11y/useSemanticElements: see above */}
    </>
  );
});

/** What a task waits for: the first id, cut if it is too long, and the number of other ids, which is never cut. */
function WaitingFor({ ids: [first, ...others] }: { ids: readonly string[] }) {
  if (first === undefined) return null;
  return (
    <span className="plan-waiting quiet">
      <span className="plan-waiting-first">{first}</span>
      {others.length === 0 ? null : <span>&nbsp;and {others.length} more</span>}
    </span>
  );
}
