-- Sends the requests of a file, each once. For one thread: each has a Lua state of its own, and would send all of them.
-- The file holds, for each request, its length in bytes, a line feed, and the request.
local requests = {}
-- wrk asks for one request more, which it checks and does not send.
local asked = -1
local sender

-- Called in another state, as `done` is.
function setup(thread)
  sender = thread
end

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  local length = file:read('*n')
  while length do
    file:read(1)
    requests[#requests + 1] = file:read(length)
    length = file:read('*n')
  end
  file:close()
  collectgarbage('stop') -- the load makes no garbage
  cpuBefore = os.clock()
end

function request()
  asked = asked + 1
  local bytes = requests[asked + 1]
  if not bytes then
    io.stderr:write('The load used up its ', #requests, ' requests.\n')
    os.exit(1)
  end
  return bytes
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"rejected":%d,"broken":%d,"cpu":%.3f}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, os.clock() - sender:get('cpuBefore')))
  io.flush()
end
