import { useEffect, useRef, useState } from 'react';
import { scope } from '../../api/scope.js';
import { Failure } from '../../components/states.js';
import { type ExportedEvents, exportEvents } from './export-events.js';
import type { LogFilter } from './log-filter.js';

type Progress =
  | { readonly state: 'none' }
  | { readonly state: 'reading'; readonly count: number }
  | { readonly state: 'done'; readonly exported: ExportedEvents }
  | { readonly state: 'failed'; readonly error: unknown };

/** Saves the events that match the filter. */
export function ExportPanel({ filter }: { filter: LogFilter }) {
  const [progress, setProgress] = useState<Progress>({ state: 'none' });
  const stopController = useRef<AbortController | null>(null);
  const file = useRef('');
  useEffect(
    () => () => {
      stopController.current?.abort();
      URL.revokeObjectURL(file.current);
    },
    [],
  );
  const start = async () => {
    stopController.current = new AbortController();
    setProgress({ state: 'reading', count: 0 });
    const onProgress = (count: number) => setProgress({ state: 'reading', count });
    try {
      const exported = await exportEvents(filter, onProgress, stopController.current.signal);
      // The browser reads the file after the click, so the file is kept until the next export.
      URL.revokeObjectURL(file.current);
      file.current = URL.createObjectURL(exported.lines);
      saveFile(file.current);
      setProgress({ state: 'done', exported });
    } catch (error) {
      setProgress(stopController.current.signal.aborted ? { state: 'none' } : { state: 'failed', error });
    }
  };
  const isReading = progress.state === 'reading';
  return (
    <section className="card" aria-label="Export">
      <h2>Export</h2>
      <p className="row">
        <button type="button" disabled={isReading} onClick={() => void start()}>
          Download these events
        </button>
        {isReading ? (
          <button type="button" onClick={() => stopController.current?.abort()}>
            Stop
          </button>
        ) : null}
        <span role="status">{textOf(progress)}</span>
      </p>
      {progress.state === 'failed' ? <Failure error={progress.error} /> : null}
      <p className="quiet">
        JSON lines, with the filter above. The whole project, to import elsewhere: <code>gen export</code>
      </p>
    </section>
  );
}

function textOf(progress: Progress): string {
  if (progress.state === 'reading') return `${progress.count} events read`;
  if (progress.state !== 'done') return '';
  const { count, isCut } = progress.exported;
  return `${count} events saved${isCut ? '. More events may match: narrow the filter, or use gen export.' : ''}`;
}

function saveFile(address: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = `${scope().project}-events.jsonl`;
  link.click();
}
