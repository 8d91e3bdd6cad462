import { LOOPBACK_ADDRESSES } from './connection-limits.js';

export const DEFAULT_LISTEN_SETTINGS = {
  /** A connection that sends no byte within this time is closed. */
  first_byte_timeout_ms: 5000,
  /** Timeout for a request's complete headers. */
  headers_timeout_ms: 15_000,
  /** Timeout for a complete request. A connection without traffic in either direction for this time is closed too. */
  request_timeout_ms: 120_000,
  keep_alive_ms: 65_000,
  /** How long a refused peer has to close its side or, after a 401, to send another request. */
  linger_ms: 5000,
  connections_max: 50_000,
  /** Per IPv4 address, or per /64 of IPv6. */
  connections_per_address_max: 1000,
  /** Addresses and networks exempt from the limit per address. */
  exempt_addresses: LOOPBACK_ADDRESSES,
  /** How long a stop waits for requests in progress. */
  stop_within_ms: 15_000,
};
export type ListenSettings = Readonly<typeof DEFAULT_LISTEN_SETTINGS>;
