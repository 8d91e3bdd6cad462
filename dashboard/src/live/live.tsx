import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import type { EventEnvelope } from '../../../src/core/contract/events.js';
import { type Connection, followEvents, type StreamPosition } from './stream.js';
import { useIsPaused } from './use-is-paused.js';

/** How many of the newest events of the stream the page keeps. Earlier events are in the log. */
const EVENTS_KEPT_MAX = 500;
/** Events that arrive within this time redraw the page once. */
const REFRESH_MS = 300;

interface Live {
  readonly connection: Connection;
  readonly events: readonly EventEnvelope[];
}

const LiveContext = createContext<Live>({ connection: { state: 'connecting' }, events: [] });
export const useLive = (): Live => useContext(LiveContext);

/**
 * Follows the stream of events while the tab is visible. When events arrive, the data of the project is read again.
 */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' });
  const [events, setEvents] = useState<readonly EventEnvelope[]>([]);
  const position = useRef<StreamPosition>({ lastEventId: null, isInterrupted: false });
  const isPaused = useIsPaused();
  useEffect(() => {
    if (isPaused) {
      position.current.isInterrupted = true;
      setConnection({ state: 'paused' });
      return;
    }
    setConnection({ state: 'connecting' });
    const stopController = new AbortController();
    const refresher = new Refresher(client);
    let pendingEvents: EventEnvelope[] = [];
    const flush = () => {
      const added = pendingEvents;
      pendingEvents = [];
      setEvents((before) => [...before, ...added].slice(-EVENTS_KEPT_MAX));
    };
    let timer: ReturnType<typeof setTimeout> | null = null;
    void followEvents(
      {
        onConnection: setConnection,
        onOpen: (isInterrupted) => {
          if (isInterrupted) void client.invalidateQueries();
          else refresher.request();
        },
        onEvents(added) {
          pendingEvents.push(...added.slice(-EVENTS_KEPT_MAX));
          refresher.request();
          timer ??= setTimeout(() => {
            timer = null;
            flush();
          }, REFRESH_MS);
        },
      },
      position.current,
      stopController.signal,
    );
    return () => {
      stopController.abort();
      refresher.stop();
      if (timer !== null) {
        clearTimeout(timer);
        flush();
      }
    };
  }, [client, isPaused]);
  const live = useMemo(() => ({ connection, events }), [connection, events]);
  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>;
}

/** Reads again at most once per interval, and never while the last reading is still under way. */
class Refresher {
  private isWanted = false;
  private isBusy = false;
  private isStopped = false;

  constructor(private readonly client: QueryClient) {}

  request(): void {
    this.isWanted = true;
    if (!this.isBusy) void this.run();
  }

  stop(): void {
    this.isStopped = true;
  }

  private async run(): Promise<void> {
    this.isBusy = true;
    while (this.isWanted && !this.isStopped) {
      this.isWanted = false;
      await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
      await this.client.invalidateQueries({ predicate: ({ meta }) => meta?.isFixed !== true });
    }
    this.isBusy = false;
  }
}
