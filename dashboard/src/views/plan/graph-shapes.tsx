import { ViewportPortal } from '@xyflow/react';
import { memo } from 'react';
import type { boxPaths, linePaths } from './graph-lines.js';

interface Props {
  readonly lines: ReturnType<typeof linePaths>;
  /** Null: tasks are drawn with their text. */
  readonly boxes: ReturnType<typeof boxPaths> | null;
}

/** Lines below the tasks and, in a large area, the tasks as coloured boxes. */
export const GraphShapes = memo(function GraphShapes({ lines, boxes }: Props) {
  return (
    <ViewportPortal>
      <svg className="graph-layer" width="1" height="1" aria-hidden="true">
        <path className="line" d={lines.plain} />
        <path className="line line-critical" d={lines.critical} />
        {[...(boxes ?? [])].map(([readiness, d]) => (
          <path key={readiness} className={`box box-${readiness}`} d={d} />
        ))}
      </svg>
    </ViewportPortal>
  );
});
